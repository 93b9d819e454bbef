"""OGC API - Features, part 1: maps as collections that QGIS, GDAL and others read. Nothing here spends or writes."""
