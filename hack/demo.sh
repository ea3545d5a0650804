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
