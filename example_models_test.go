package sluice_test

import "fmt"

func ExampleDataset_Infer() {
	s := session()
	defer s.Close()
	// A server is asked what its model is when the plan is checked; here there is none.
	photos := s.Read("testdata/photos/cat.jpg").Decode().Resize(224, 224).ToTensor(224, 224)
	_, err := photos.Infer("nowhere://a:8001,b:8001/resnet18", "image -> logits", "batch=8").Count(ctx)
	fmt.Println(err != nil)
	// Output: true
}

func ExampleDataset_Embed() {
	s := session()
	defer s.Close()
	// Without the model, or in a program built without ONNX models, the plan says what to do.
	_, err := s.Read("examples/data/events.jsonl").Embed("onnx:no-such-model", "text").Count(ctx)
	fmt.Println(err != nil)
	// Output: true
}
