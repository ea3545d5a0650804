package objecttest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
)

// client sends plain requests to servers, each on a connection of its own: servers that close idle ones are many, and this one repeats nothing.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// request sends a plain request and returns the body of the answer. An object that is missing is fs.ErrNotExist.
func request(method, url string, body []byte, header map[string]string) ([]byte, error) {
	req, err := http.NewRequest(method, url, bytes.NewReader(body)) //nolint:noctx
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("%s %s: %w", method, url, fs.ErrNotExist)
	case resp.StatusCode >= 300:
		return nil, fmt.Errorf("%s %s: the server answers %s: %.500s", method, url, resp.Status, out)
	}
	return out, nil
}
