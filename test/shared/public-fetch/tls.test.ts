import "reflect-metadata";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { BasicConstraintsExtension, SubjectAlternativeNameExtension, X509CertificateGenerator } from "@peculiar/x509";
import { createPublicFetch } from "../../../lambdas/shared/public-fetch/public-fetch.ts";
import { read } from "./read.ts";

const ecdsa = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const trusted = getCACertificates("default");
const toClose: (() => void)[] = [];
const resolve = async () => [{ address: "127.0.0.1", family: 4 }];

/** A certificate for `name`, which is its own authority, and its key. */
async function certificateFor(name: string) {
  const keys = await crypto.subtle.generateKey(ecdsa, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: ecdsa,
    notBefore: new Date(Date.now() - 3600_000),
    notAfter: new Date(Date.now() + 3600_000),
    extensions: [
      new SubjectAlternativeNameExtension([{ type: "dns", value: name }]),
      new BasicConstraintsExtension(true, undefined, true),
    ],
  });
  const key = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  return { cert: certificate.toString("pem"), key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n` };
}

/** A server with that certificate, on loopback; which names the clients asked for. */
async function serve(certificate: { cert: string; key: string }) {
  const names: unknown[] = [];
  const server = createServer({ ...certificate, SNICallback: (name, answer) => answer(null, void names.push(name)) });
  server.on("request", (request, response) => response.end(request.headers.host));
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  toClose.push(() => server.close());
  return { port: (server.address() as AddressInfo).port, names };
}

describe("a connection that is pinned to an address", () => {
  let certificate: { cert: string; key: string };
  beforeAll(async () => {
    certificate = await certificateFor("files.test");
    setDefaultCACertificates([...trusted, certificate.cert]);
  });
  afterAll(() => setDefaultCACertificates(trusted));
  afterEach(() => {
    for (const close of toClose.splice(0)) close();
  });

  const fetchHere = createPublicFetch({ resolve, allowLoopback: true });

  it("asks for the name, and takes the name's certificate", async () => {
    const { port, names } = await serve(certificate);
    const bytes = await read(fetchHere, { url: `https://files.test:${port}/` });
    expect(Buffer.from(bytes).toString()).toBe(`files.test:${port}`);
    expect(names).toEqual(["files.test"]);
  });

  it("does not take the certificate of another name", async () => {
    const { port, names } = await serve(certificate);
    await expect(read(fetchHere, { url: `https://other.test:${port}/` })).rejects.toMatchObject({
      reason: "unavailable",
      cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" },
    });
    expect(names).toEqual(["other.test"]);
  });

  it("does not take the name's certificate for a bare address", async () => {
    const { port } = await serve(certificate);
    await expect(read(fetchHere, { url: `https://127.0.0.1:${port}/` })).rejects.toMatchObject({
      cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" },
    });
  });

  it("does not take a certificate of nobody's", async () => {
    const { port } = await serve(await certificateFor("files.test"));
    await expect(read(fetchHere, { url: `https://files.test:${port}/` })).rejects.toMatchObject({
      reason: "unavailable",
      cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
    });
  });
});
