package sluice_test

import (
	"fmt"
	"log"

	"github.com/sluice-data/sluice"
)

// cats are pictures of a cat in several sizes and formats.
func cats(s *sluice.Session) sluice.Dataset {
	return s.Read("testdata/photos/cat.jpg", "testdata/photos/sub/cat-*").Decode()
}

func ExampleDataset_Decode() {
	s := session()
	defer s.Close()
	show(cats(s).Drop("image"))
	// Output:
	// {"path":"testdata/photos/cat.jpg","width":451,"height":300,"format":"jpeg"}
	// {"path":"testdata/photos/sub/cat-alpha.png","width":451,"height":300,"format":"png"}
	// {"path":"testdata/photos/sub/cat-small.jpg","width":300,"height":200,"format":"jpeg"}
}

func ExampleDataset_Frames() {
	s := session()
	defer s.Close()
	show(s.Read("testdata/photos/sub/animated.gif").Frames("max=2").Drop("path"))
	// Output:
	// {"image":{"width":200,"height":133,"channels":3},"frame":0,"frames":3,"time_ms":0,"delay_ms":100,"width":200,"height":133,"format":"gif"}
	// {"image":{"width":200,"height":133,"channels":3},"frame":1,"frames":3,"time_ms":100,"delay_ms":100,"width":200,"height":133,"format":"gif"}
}

func ExampleDataset_Resize() {
	s := session()
	defer s.Close()
	show(cats(s).Limit(1).Resize(224, 224).Select("image"))
	show(cats(s).Limit(1).Resize(224, 224, "fit=fit").Select("image"))
	show(cats(s).Limit(1).Resize(224, 224, "fit=fill").Select("image"))
	// Output:
	// {"image":{"width":224,"height":224,"channels":3}}
	// {"image":{"width":224,"height":149,"channels":3}}
	// {"image":{"width":224,"height":224,"channels":3}}
}

func ExampleDataset_Crop() {
	s := session()
	defer s.Close()
	show(cats(s).Limit(1).Crop(200, 100).Select("image"))
	// Output: {"image":{"width":200,"height":100,"channels":3}}
}

func ExampleDataset_CropAt() {
	s := session()
	defer s.Close()
	show(cats(s).Limit(1).CropAt(10, 20, 64, 48).Select("image"))
	// Output: {"image":{"width":64,"height":48,"channels":3}}
}

func ExampleDataset_Convert() {
	s := session()
	defer s.Close()
	show(cats(s).Limit(1).Convert("grey").Select("image"))
	// Output: {"image":{"width":451,"height":300,"channels":1}}
}

func ExampleDataset_Encode() {
	s := session()
	defer s.Close()
	rows, err := cats(s).Resize(32, 32).Encode("png", 0).Take(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4q\n", rows[0]["image"])
	// Output: "\x89PNG"
}

func ExampleDataset_ToTensor() {
	s := session()
	defer s.Close()
	schema, err := cats(s).Resize(8, 8).ToTensor(8, 8, "mean=0.5", "std=0.5").Schema(ctx)
	if err != nil {
		log.Fatal(err)
	}
	f, _ := schema.FieldsByName("image")
	fmt.Println(f[0].Type)
	// Output: tensor<float32, [3 8 8]>
}

// The hash of a copy differs in few bits; see MarkDuplicates.
func ExampleDataset_PHash() {
	s := session()
	defer s.Close()
	rows, err := cats(s).PHash().Select("phash").Take(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%T\n", rows[0]["phash"])
	// Output: uint64
}

func ExampleDataset_Score() {
	s := session()
	defer s.Close()
	show(cats(s).Score().Limit(1).Filter("blur > 100 and brightness < 0.5 and entropy > 7").Select("path"))
	// Output: {"path":"testdata/photos/cat.jpg"}
}

func ExampleDataset_MarkDuplicates() {
	s := session()
	defer s.Close()
	show(cats(s).PHash().MarkDuplicates("phash", 6).Select("path", "duplicate_of"))
	// Output:
	// {"path":"testdata/photos/cat.jpg","duplicate_of":null}
	// {"path":"testdata/photos/sub/cat-alpha.png","duplicate_of":"testdata/photos/cat.jpg"}
	// {"path":"testdata/photos/sub/cat-small.jpg","duplicate_of":"testdata/photos/cat.jpg"}
}
