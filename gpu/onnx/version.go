package onnx

// Version loads ONNX Runtime, as models do, and returns its version and where it lies. The error says what keeps models from running, and what to do.
func Version() (version, path string, err error) {
	if err := built(); err != nil {
		return "", "", err
	}
	if path, err = Library(); err != nil {
		return "", "", err
	}
	version, err = loadedVersion()
	return version, path, err
}
