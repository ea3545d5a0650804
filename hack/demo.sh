#!/bin/sh
# Curates the sample photos and shows what came of it.
set -e
out=demo/photos.parquet
rm -rf demo
mkdir -p demo
echo "Curating testdata/photos: decode, drop the small and the featureless, find near-duplicates, resize, score."
echo
bin/sluice run examples/photos/job.yaml --on-error skip --set out=$out
echo
bin/sluice --quiet --to table "$out | select path, width, height, blur, brightness, entropy, duplicate_of"
echo
echo "The result is $out: open it with anything that reads Parquet."

echo
if [ -f .cache/models/efficientnet-lite0.onnx ] && bin/sluice --quiet 'testdata/photos/cat.jpg | infer onnx:efficientnet-lite0 image' >/dev/null 2>&1; then
	echo "What the photos show (EfficientNet-Lite0, in this process):"
	echo
	CGO_ENABLED=1 ${GO:-go} run -tags onnx ./examples/classify -in testdata/photos -html demo/sheet.html
	echo "Open demo/sheet.html in a browser."
else
	echo "For a contact sheet that says what each photo shows: make models demo (it needs a C compiler)."
fi
