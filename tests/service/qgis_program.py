"""Runs in QGIS's own Python, without a screen: opens a map as users do, and prints what QGIS sees in it.

It is told the address, the token and the id of a map, a GeoPackage of the same map, and where its picture goes.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from urllib.parse import quote

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from qgis.core import (
    Qgis,
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsFillSymbol,
    QgsGradientColorRamp,
    QgsGraduatedSymbolRenderer,
    QgsMapRendererSequentialJob,
    QgsMapSettings,
    QgsProject,
    QgsRasterLayer,
    QgsRendererRange,
    QgsVectorLayer,
)
from qgis.gui import QgsLayerTreeMapCanvasBridge, QgsLayerTreeView, QgsMapCanvas
from qgis.PyQt.QtCore import QSize, Qt
from qgis.PyQt.QtGui import QColor
from qgis.PyQt.QtWidgets import QApplication, QMainWindow, QSplitter

MERCATOR = QgsCoordinateReferenceSystem("EPSG:3857")
WIDE, HIGH = 1_000, 620


def features(url: str, token: str, map_id: str) -> Any:
    """The layer that 'Add WFS / OGC API - Features Layer' makes."""
    said = {"url": f"{url}/ogc", "typename": map_id, "username": "ann", "password": token}
    uri = " ".join(f"{name}='{value}'" for name, value in said.items())
    return QgsVectorLayer(f"{uri} pagingEnabled='true' maxNumFeatures='100000'", "records, epsilon 1", "OAPIF")


def tiles(url: str, token: str, map_id: str) -> Any:
    """The layer that 'Add XYZ Layer' makes."""
    address = quote(f"{url}/v1/maps/{map_id}/tiles/{{z}}/{{x}}/{{y}}.png", safe="{}")
    uri = f"type=xyz&url={address}&zmin=0&zmax=22&username=ann&password={token}"
    return QgsRasterLayer(uri, "the same as tiles", "wms")


def seen(layer: Any, path: str) -> dict[str, Any]:
    """What QGIS reads of a vector layer."""
    if not layer.isValid():
        raise SystemExit(f"QGIS cannot open {path}: {layer.error().message()}")
    found = sorted((int(each["place"]), float(each["value"])) for each in layer.getFeatures())
    box = layer.extent()
    return {
        "crs": layer.crs().authid(),
        "values": [value for _, value in found],
        "extent": [box.xMinimum(), box.yMinimum(), box.xMaximum(), box.yMaximum()],
    }


def painted(layer: Any, extent: Any) -> float:
    """The share of pixels that a layer paints, drawn over nothing."""
    if not layer.isValid():
        raise SystemExit(f"QGIS cannot open the tiles: {layer.error().message()}")
    settings = QgsMapSettings()
    settings.setLayers([layer])
    settings.setDestinationCrs(MERCATOR)
    settings.setExtent(extent)
    settings.setOutputSize(QSize(200, 200))
    settings.setBackgroundColor(QColor(0, 0, 0, 0))
    job = QgsMapRendererSequentialJob(settings)
    job.start()
    job.waitForFinished()
    picture = job.renderedImage()
    pixels = [QColor(picture.pixelColor(x, y)).alpha() for x in range(200) for y in range(200)]
    return sum(alpha > 0 for alpha in pixels) / len(pixels)


def coloured(layer: Any) -> None:
    """Colour a layer by value, in steps that double, and leave out what noise alone may explain."""
    values = [float(each["value"]) for each in layer.getFeatures() if each["told_apart"]]
    edges = [int(min(values))]
    while edges[-1] < max(values):
        edges.append(2 * edges[-1])
    ramp, ranges = QgsGradientColorRamp(QColor("#ffeda0"), QColor("#800026")), []
    for at, (low, high) in enumerate(zip(edges, edges[1:])):  # noqa: B905, RUF007  an older Python runs this
        symbol = QgsFillSymbol.createSimple({"outline_style": "no"})
        symbol.setColor(ramp.color(at / max(1, len(edges) - 2)))
        ranges.append(QgsRendererRange(low, high, symbol, f"{low} to {high}"))
    layer.setRenderer(QgsGraduatedSymbolRenderer('if("told_apart", "value", NULL)', ranges))


def window(layers: list[Any], path: str) -> None:
    """Write a picture of a window with the layers and their legend."""
    project = QgsProject.instance()
    project.setCrs(MERCATOR)
    for layer in reversed(layers):
        project.addMapLayer(layer)
    frame, split, canvas, tree = QMainWindow(), QSplitter(Qt.Horizontal), QgsMapCanvas(), QgsLayerTreeView()
    model = layer_tree_model(project)
    tree.setModel(model)
    tree.selectionModel().clear()
    bridge = QgsLayerTreeMapCanvasBridge(project.layerTreeRoot(), canvas)
    canvas.setCanvasColor(QColor("#eef2f4"))
    canvas.setDestinationCrs(MERCATOR)
    split.addWidget(tree)
    split.addWidget(canvas)
    split.setSizes([230, WIDE - 230])
    frame.setCentralWidget(split)
    frame.resize(WIDE, HIGH)
    frame.show()
    bridge.setCanvasLayers()
    canvas.setExtent(canvas.mapSettings().layerExtentToOutputExtent(layers[0], layers[0].extent()))
    canvas.refresh()
    canvas.waitWhileRendering()
    QApplication.processEvents()
    if not frame.grab().save(path):
        raise SystemExit(f"the picture cannot be written to {path}")
    frame.close()


def layer_tree_model(project: Any) -> Any:
    from qgis.core import QgsLayerTreeModel

    return QgsLayerTreeModel(project.layerTreeRoot())


def main() -> None:
    url, token, map_id, package, picture = sys.argv[1:]
    app = QgsApplication([], True)
    app.initQgis()
    served, filed, drawn = (
        features(url, token, map_id),
        QgsVectorLayer(package, "map", "ogr"),
        tiles(url, token, map_id),
    )
    told = {"version": Qgis.QGIS_VERSION, "served": seen(served, "the service"), "file": seen(filed, package)}
    settings = QgsMapSettings()
    settings.setDestinationCrs(MERCATOR)
    told["painted"] = painted(drawn, settings.layerExtentToOutputExtent(served, served.extent()))
    coloured(served)
    window([served], picture)
    print(json.dumps(told))
    sys.stdout.flush()
    os._exit(0)  # QGIS takes its layers apart in an order of its own


if __name__ == "__main__":
    main()
