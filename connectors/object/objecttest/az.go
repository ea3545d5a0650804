package objecttest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
)

// az is Azurite with everything in its memory.
type az struct{ bin, base string }

const azAccount = "testaccount"

// azKey is the key of the account, in base64.
var azKey = base64.StdEncoding.EncodeToString([]byte("testsecret"))

func (a *az) command(address string) (*exec.Cmd, error) {
	host, port, err := net.SplitHostPort(address)
	cmd := exec.Command(a.bin, "--blobHost", host, "--blobPort", port, "--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry") //nolint:gosec
	cmd.Env = append(cmd.Environ(), "AZURITE_ACCOUNTS="+azAccount+":"+azKey)
	return cmd, err
}

func (a *az) environ(address string) map[string]string {
	return map[string]string{"AZURE_STORAGE_ACCOUNT": azAccount, "AZURE_STORAGE_KEY": azKey, "SLUICE_AZ_ENDPOINT": "http://" + address + "/" + azAccount}
}

// AzureSAS is a token that allows everything in the account of the server of az.
func AzureSAS() string {
	q := url.Values{"sv": {"2018-11-09"}, "ss": {"b"}, "srt": {"sco"}, "sp": {"rwdlac"}, "se": {"2099-01-01T00:00:00Z"}}
	mac := hmac.New(sha256.New, []byte("testsecret"))
	mac.Write([]byte(strings.Join([]string{azAccount, q.Get("sp"), q.Get("ss"), q.Get("srt"), "", q.Get("se"), "", "", q.Get("sv"), ""}, "\n")))
	q.Set("sig", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return q.Encode()
}

// send sends a request that a token allows.
func (a *az) send(method, path, query string, body []byte, header map[string]string) ([]byte, error) {
	return request(method, a.base+path+"?"+query+"&"+AzureSAS(), body, header)
}

// create makes a container whose objects anybody may read.
func (a *az) create(bucket string) error {
	_, err := a.send(http.MethodPut, "/"+bucket, "restype=container", nil, map[string]string{"x-ms-blob-public-access": "container", "x-ms-version": "2018-11-09"})
	return err
}

func (a *az) keys(bucket, prefix string) (out []string, err error) {
	for marker := ""; ; {
		raw, err := a.send(http.MethodGet, "/"+bucket, "restype=container&comp=list&prefix="+url.QueryEscape(prefix)+"&marker="+url.QueryEscape(marker), nil, nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Blobs []struct{ Name string } `xml:"Blobs>Blob"`
			Next  string                  `xml:"NextMarker"`
		}
		if err := xml.Unmarshal(raw, &page); err != nil {
			return nil, err
		}
		for _, o := range page.Blobs {
			out = append(out, o.Name)
		}
		if marker = page.Next; marker == "" {
			slices.Sort(out)
			return out, nil
		}
	}
}

// object is the path of an object.
func object(bucket, key string) string { return "/" + bucket + "/" + url.PathEscape(key) }

func (a *az) read(bucket, key string) ([]byte, error) {
	return a.send(http.MethodGet, object(bucket, key), "", nil, nil)
}

func (a *az) write(bucket, key string, data []byte) error {
	_, err := a.send(http.MethodPut, object(bucket, key), "", data, map[string]string{"x-ms-blob-type": "BlockBlob"})
	return err
}

func (a *az) remove(bucket, key string) error {
	_, err := a.send(http.MethodDelete, object(bucket, key), "", nil, nil)
	return err
}

func (a *az) close() error { return nil }
