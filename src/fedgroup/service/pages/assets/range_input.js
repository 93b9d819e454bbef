// A browser's own slider: it has a name, takes the keyboard, and does not jump back under a hand that moves it.
const REST_MS = 400;

export default {
  template: `<input type="range" class="fg-range" :aria-label="label" :min="least" :max="most" :step="step" :value="now"
    @input="slide" />`,
  props: { label: String, least: Number, most: Number, step: Number, value: Number },
  data() {
    return { now: this.value, touched: 0 };
  },
  watch: {
    value(told) {
      if (Date.now() - this.touched > REST_MS) this.now = told;
    },
  },
  methods: {
    slide(event) {
      this.touched = Date.now();
      this.now = Number(event.target.value);
      this.$emit("slide", this.now);
    },
  },
};
