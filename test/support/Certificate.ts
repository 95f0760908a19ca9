/**
 * A certificate for the hosts of the tests and for this machine, which is its own authority. Created with `openssl req -x509 -newkey ec
 * -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500`, with the names as `-addext subjectAltName=`.
 */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIB3TCCAYKgAwIBAgIUJ3FuDgXmTomd1tYKE9H+Maajk3wwCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRVGVzdCBvZiByZWNlaXZlcnMwIBcNMjYxMTIzMDI1NjE0WhgP
MjEyNjEwMzAwMjU2MTRaMBwxGjAYBgNVBAMMEVRlc3Qgb2YgcmVjZWl2ZXJzMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEiKb3zSCO+1XRYm3jXJmeCYxm056TBQfz
xoZq/dsWAp0FqSEq+wZSlaGerr09qD75I+7akrlLLOBmDRt3j8Amd6OBnzCBnDAd
BgNVHQ4EFgQUYF9MuejjbjpqhTGuWLET3KW9B/8wHwYDVR0jBBgwFoAUYF9Muejj
bjpqhTGuWLET3KW9B/8wDwYDVR0TAQH/BAUwAwEB/zBJBgNVHREEQjBAgg1hZ2Vu
dC5leGFtcGxlgg9wcml2YXRlLmV4YW1wbGWCDW1peGVkLmV4YW1wbGWCCWxvY2Fs
aG9zdIcEfwAAATAKBggqhkjOPQQDAgNJADBGAiEAoiADNQTC0kuZn8vT7y1pGars
kWkHmmp5Ac1iDFCFFEwCIQCsGI+ND7qQq1xOpXtzzR6Uv6iAsjFJ4xBCTDnCANPM
4Q==
-----END CERTIFICATE-----`

export const certificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6cZUbRadZGpsm+K1
QgSlNU0qTbMPtNO4bonw9qIeyI6hRANCAASIpvfNII77VdFibeNcmZ4JjGbTnpMF
B/PGhmr92xYCnQWpISr7BlKVoZ6uvT2oPvkj7tqSuUss4GYNG3ePwCZ3
-----END PRIVATE KEY-----`
