"""The federation over HTTP: an API for users and operators, and a client for it.

Guarantee: a user's allowance is charged on disk before owners are asked, once for an idempotency key, and whoever
           hangs up changes nothing about that. Replies, errors and metrics hold what users may see: noisy values,
           counts and sizes of groups; names of owners and members of groups are for operators.

    app, routes, reading     the API, one function a path
    asked, shown             what is sent and what is replied, as types
    questions, charged_work  how a question is asked, charged and kept
    accounts, rates          whose token this is, and how often it may ask
    problems, handlers       everything that can go wrong, as RFC 9457 problem details
    kept_maps, tile_routes, ogc
                             maps for other programs: features and tiles, for nothing
    bodies, metrics, api_page, serving
                             the rest of a server
    pages                    the map and other pages for browsers
    provider_process, trial  a provider with its API in one process; a whole federation to try
    client, calls            the other end
"""
