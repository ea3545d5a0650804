//go:build sluicedebug

package sluice_test

import "github.com/sluice-data/sluice/dataset/block"

func init() { liveBlocks = block.Leaks }
