package objecttest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
)

// gs is fake-gcs-server with everything in its memory. It knows no credentials.
type gs struct{ bin, base string }

func (g *gs) command(address string) (*exec.Cmd, error) {
	host, port, err := net.SplitHostPort(address)
	// The public host without a port: reads come in at any port, also that of a proxy.
	return exec.Command(g.bin, "-backend", "memory", "-scheme", "http", "-host", host, "-port", port, "-public-host", host, //nolint:gosec
		"-external-url", g.base, "-log-level", "error"), err
}

func (g *gs) environ(address string) map[string]string {
	return map[string]string{"SLUICE_GS_ENDPOINT": "http://" + address, "SLUICE_GS_ANONYMOUS": "1"}
}

func (g *gs) create(bucket string) error {
	_, err := request(http.MethodPost, g.base+"/storage/v1/b", fmt.Appendf(nil, `{"name":%q}`, bucket), map[string]string{"Content-Type": "application/json"})
	return err
}

func (g *gs) keys(bucket, prefix string) (out []string, err error) {
	for token := ""; ; {
		raw, err := request(http.MethodGet, g.base+"/storage/v1/b/"+bucket+"/o?prefix="+url.QueryEscape(prefix)+"&pageToken="+url.QueryEscape(token), nil, nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items []struct{ Name string }
			Next  string `json:"nextPageToken"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, err
		}
		for _, o := range page.Items {
			out = append(out, o.Name)
		}
		if token = page.Next; token == "" {
			slices.Sort(out)
			return out, nil
		}
	}
}

func (g *gs) object(bucket, key string) string {
	return g.base + "/storage/v1/b/" + bucket + "/o/" + url.PathEscape(key)
}

func (g *gs) read(bucket, key string) ([]byte, error) {
	return request(http.MethodGet, g.object(bucket, key)+"?alt=media", nil, nil)
}

func (g *gs) write(bucket, key string, data []byte) error {
	_, err := request(http.MethodPost, g.base+"/upload/storage/v1/b/"+bucket+"/o?uploadType=media&name="+url.QueryEscape(key), data,
		map[string]string{"Content-Type": "application/octet-stream"})
	return err
}

func (g *gs) remove(bucket, key string) error {
	_, err := request(http.MethodDelete, g.object(bucket, key), nil, nil)
	return err
}

func (g *gs) close() error { return nil }
