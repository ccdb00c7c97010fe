package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/client"
	"github.com/vernier-ml/vernier/cmd/internal/cli"
)

// certificate makes a certificate of 127.0.0.1 that nobody else has signed, and its key.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a test of vernier serve"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pool = x509.NewCertPool()
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		text := pem.EncodeToMemory(block)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if path == certFile && !pool.AppendCertsFromPEM(text) {
			t.Fatal("the certificate cannot be read")
		}
	}
	return certFile, keyFile, pool
}

func TestServeSpeaksTLS(t *testing.T) {
	folder, images := trained(t)
	cert, key, pool := certificate(t)
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte(serveToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(images, "class 08", "3.png"))
	if err != nil {
		t.Fatal(err)
	}
	at, _, end := serving(t, folder, "--gallery", filepath.Join(t.TempDir(), "g.index"), "--token-file", tokens, "--tls-cert", cert, "--tls-key", key)
	defer end()
	if !strings.HasPrefix(at, "https://127.0.0.1:") {
		t.Fatalf("it says that it listens at %s", at)
	}
	speaking := func(c *tls.Config) *http.Client {
		transport := &http.Transport{TLSClientConfig: c}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	c, err := client.New(at, client.WithToken(serveToken), client.WithHTTP(speaking(&tls.Config{RootCAs: pool})))
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.SearchImage(t.Context(), body, client.Options{K: 3})
	if err != nil || len(found.Results[0].Neighbors) != 3 || found.Results[0].Neighbors[0].Class != "class 08" {
		t.Errorf("%+v, %v", found, err)
	}
	if done, err := c.PutImages(t.Context(), "new", client.Image{Path: "new/1.png", File: body}); err != nil || done.Rows != 48 || done.Replaced != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	for says, h := range map[string]*http.Client{
		"certificate signed by unknown authority": speaking(&tls.Config{RootCAs: x509.NewCertPool()}),
		"protocol version":                        speaking(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}),
	} {
		r, err := h.Get(at + "healthz")
		if err == nil {
			r.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	r, err := http.Get("http://" + strings.TrimPrefix(at, "https://") + "healthz")
	if err != nil {
		t.Fatal(err)
	}
	if r.Body.Close(); r.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS it answers %d", r.StatusCode)
	}
	_, otherKey, _ := certificate(t)
	if code, _, errs := vernier(t, "serve", folder, "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", otherKey); code != cli.ExitFailed || !strings.Contains(errs, "--tls-cert and --tls-key") {
		t.Errorf("a key of another certificate: exit %d\n%s", code, errs)
	}
}
