package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

type request struct {
	Now   int64
	Token string
	Body  []byte
}

// Runs the verifier over a file of test vectors: go run . ../vectors.json
func main() {
	var file struct {
		Settings struct {
			Issuer, Audience string
			Zones            []string
			Tolerance        int64 `json:"tolerance_seconds"`
			JWKS             struct{ Keys []Key }
		}
		Vectors []struct {
			request
			Name, Expected string
			First          *request
		}
	}
	data, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	settings, wrong := file.Settings, 0
	for _, vector := range file.Vectors {
		verifier := &Verifier{Issuer: settings.Issuer, Audience: settings.Audience, Zones: settings.Zones, Tolerance: settings.Tolerance, Keys: settings.JWKS.Keys}
		if vector.First != nil {
			verdict(verifier, *vector.First)
		}
		given, mark := verdict(verifier, vector.request), "ok"
		if given != vector.Expected {
			wrong, mark = wrong+1, "WRONG"
		}
		fmt.Printf("%s %s: %s\n", mark, given, vector.Name)
	}
	fmt.Printf("%d vectors, %d wrong\n", len(file.Vectors), wrong)
	if wrong > 0 {
		os.Exit(1)
	}
}

func verdict(verifier *Verifier, request request) string {
	if _, err := verifier.Verify(request.Token, request.Body, time.Unix(request.Now, 0)); err != nil {
		return err.Error()
	}
	return "valid"
}
