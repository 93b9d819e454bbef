"""The federation in a browser: ask on a map, see who is here, understand what a method costs, all of it offline.

Guarantee: a page does what its user's token may do over the HTTP API and nothing else, through the same `Questions`.
           Who is signed in ends after some hours, and with its token; it is kept over a restart, sealed.

    mounting, policy         pages beside an application's API; what a browser may load
    sessions, login, visits  who is signed in, by which token
    plain, frame             what all pages share: those without NiceGUI, those with it
    assets                   scripts and sheets; what is chosen on the page to ask on lives in those of `assets/ask`
    ask, asking, told        the page to ask on, what it asks of the provider, and answers in words
    choosing, map            the method that is taken, what a map begins with
    layers, published_layers, reading, sharpening
                             published maps, what is read off them, and paid answers together with them
    exports                  a user's questions as files
    federation, federation_view, learn, drawings
                             the other pages, and their charts
    examples, example_cards  methods run on invented records
    owner, owner_page        an owner's own page, served by its own process
"""
