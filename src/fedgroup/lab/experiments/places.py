"""Public places to ask about: landmarks and cities anyone can name, or a lattice. None is taken from the records."""

from __future__ import annotations

from fedgroup.space import Box

Place = tuple[float, float]

NEW_YORK = Box(-74.26, 40.48, -73.70, 40.92)
WORLD = Box(-180, -60, 180, 75)

_LANDMARKS = """
Empire State Building -73.9857 40.7484; Times Square -73.9855 40.7580; Grand Central Terminal -73.9772 40.7527
Penn Station -73.9935 40.7506; Port Authority Bus Terminal -73.9903 40.7569; Bryant Park -73.9832 40.7536
Rockefeller Center -73.9787 40.7587; Museum of Modern Art -73.9776 40.7614; Columbus Circle -73.9819 40.7681
Lincoln Center -73.9835 40.7725; American Museum of Natural History -73.9740 40.7813
Metropolitan Museum of Art -73.9632 40.7794; Guggenheim Museum -73.9590 40.7830; Central Park Zoo -73.9718 40.7678
Bloomingdale's -73.9670 40.7620; United Nations -73.9680 40.7489; Chrysler Building -73.9755 40.7516
Madison Square Park -73.9881 40.7420; Flatiron Building -73.9897 40.7411; Union Square -73.9904 40.7359
Gramercy Park -73.9860 40.7379; Chelsea Market -74.0061 40.7424; High Line at 23rd Street -74.0046 40.7480
Washington Square -73.9973 40.7308; Tompkins Square -73.9817 40.7265; Astor Place -73.9910 40.7298
Christopher Street -74.0064 40.7335; SoHo, Prince and Greene -73.9987 40.7248; Katz's Delicatessen -73.9873 40.7222
Little Italy, Mulberry and Grand -73.9974 40.7191; Chinatown, Canal and Mott -73.9981 40.7168
City Hall -74.0060 40.7128; World Trade Center -74.0134 40.7127; Wall Street -74.0090 40.7066
South Street Seaport -74.0037 40.7066; Battery Park -74.0170 40.7033; Brooklyn Bridge, middle -73.9969 40.7061
Brooklyn Borough Hall -73.9903 40.6925; Barclays Center -73.9753 40.6826; DUMBO -73.9888 40.7033
Bedford Avenue and North 7th -73.9570 40.7171; McCarren Park -73.9520 40.7206; Greenpoint Avenue -73.9540 40.7305
Grand Army Plaza -73.9700 40.6740; Brooklyn Museum -73.9636 40.6712; Coney Island -73.9780 40.5749
Long Island City, Court Square -73.9453 40.7470; Astoria, Ditmars -73.9120 40.7753
Flushing Main Street -73.8303 40.7596; Citi Field -73.8458 40.7571
LaGuardia Airport -73.8740 40.7769; Kennedy Airport -73.7781 40.6413
Yankee Stadium -73.9262 40.8296; Bronx Zoo -73.8769 40.8506; Columbia University -73.9626 40.8075
Apollo Theater -73.9500 40.8100; The Cloisters -73.9319 40.8649; Staten Island Ferry, St. George -74.0733 40.6437
Newport, Jersey City -74.0340 40.7268; Hoboken Terminal -74.0277 40.7350
"""

# Without Austin, the home of the service that the check-ins come from: it would outweigh all others together.
_CITIES = """
Dallas -96.7970 32.7767; Houston -95.3698 29.7604; San Antonio -98.4936 29.4241
New York -74.0060 40.7128; Philadelphia -75.1652 39.9526; Boston -71.0589 42.3601; Washington -77.0369 38.9072
Atlanta -84.3880 33.7490; Miami -80.1918 25.7617; Orlando -81.3792 28.5383; Tampa -82.4572 27.9506
Nashville -86.7816 36.1627; Charlotte -80.8431 35.2271; New Orleans -90.0715 29.9511; Chicago -87.6298 41.8781
Detroit -83.0458 42.3314; Minneapolis -93.2650 44.9778; St. Louis -90.1994 38.6270; Kansas City -94.5786 39.0997
Tulsa -95.9928 36.1540; Oklahoma City -97.5164 35.4676; Denver -104.9903 39.7392; Salt Lake City -111.8910 40.7608
Phoenix -112.0740 33.4484; Las Vegas -115.1398 36.1699; San Diego -117.1611 32.7157; Los Angeles -118.2437 34.0522
San Francisco -122.4194 37.7749; San Jose -121.8863 37.3382; Sacramento -121.4944 38.5816; Portland -122.6765 45.5231
Seattle -122.3321 47.6062; Vancouver -123.1207 49.2827; Calgary -114.0719 51.0447; Toronto -79.3832 43.6532
Montreal -73.5673 45.5017; Mexico City -99.1332 19.4326; London -0.1278 51.5074; Manchester -2.2426 53.4808
Dublin -6.2603 53.3498; Paris 2.3522 48.8566; Brussels 4.3517 50.8503; Amsterdam 4.9041 52.3676
Cologne 6.9603 50.9375; Hamburg 9.9937 53.5511; Berlin 13.4050 52.5200; Munich 11.5820 48.1351; Zurich 8.5417 47.3769
Vienna 16.3738 48.2082; Milan 9.1900 45.4642; Barcelona 2.1734 41.3851; Madrid -3.7038 40.4168
Copenhagen 12.5683 55.6761; Oslo 10.7522 59.9139; Gothenburg 11.9746 57.7089; Malmo 13.0038 55.6050
Stockholm 18.0686 59.3293; Helsinki 24.9384 60.1699; Riyadh 46.6753 24.7136; Bangkok 100.5018 13.7563
Kuala Lumpur 101.6869 3.1390; Singapore 103.8198 1.3521; Tokyo 139.6917 35.6895; Sydney 151.2093 -33.8688
"""


def public_places(domain: Box) -> tuple[Place, ...]:
    """Return landmarks for New York, cities for the world, and for any other domain a lattice over its inner half."""
    if domain == NEW_YORK:
        return _listed(_LANDMARKS)
    return _listed(_CITIES) if domain == WORLD else _lattice(domain, columns=8, rows=7)


def _listed(text: str) -> tuple[Place, ...]:
    """Return the coordinates at the end of each entry."""
    entries = (entry.rsplit(maxsplit=2) for line in text.strip().splitlines() for entry in line.split(";"))
    return tuple((float(x), float(y)) for _, x, y in entries)


def _lattice(domain: Box, *, columns: int, rows: int) -> tuple[Place, ...]:
    west, south = domain.west + domain.width / 4, domain.south + domain.height / 4
    across, up = domain.width / 2 / (columns - 1), domain.height / 2 / (rows - 1)
    return tuple((west + across * i, south + up * j) for j in range(rows) for i in range(columns))
