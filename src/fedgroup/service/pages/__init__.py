"""The federation in a browser: ask on a map, see who is here, understand what a method costs, all of it offline.

Guarantee: a page does what its user's token may do over the HTTP API and nothing else, through the same `Questions`.
           Who is signed in is kept in this process only, ends after some hours, and with its token.

    mounting, policy         pages beside an application's API; what a browser may load
    sessions, login, visits  who is signed in, by which token
    frame                    what all pages share
    ask, asking_form, area_form, answer_card, history
                             the page to ask on, part by part
    map, range_input, methods
                             the map, sliders, and what the methods are, in few words
    federation, learn, drawings
                             the other pages, and their charts
    examples, example_cards  methods run on invented records
    owner, owner_page        an owner's own page, served by its own process
"""
