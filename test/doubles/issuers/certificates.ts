/** A certificate authority, made at run time. Import "reflect-metadata" before this file. */
import "reflect-metadata";
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

const ecdsa = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const hourMs = 3600_000;

/** In PEM. */
export type Certified = { cert: string; key: string };
type AltName = { type: "ip" | "dns"; value: string };
export type Authority = {
  /** Its own certificate, in PEM. */
  ca: string;
  /** By default valid for 127.0.0.1, and for an hour. */
  issue(request: { name: string; notAfter?: Date; altName?: AltName }): Promise<Certified>;
};

export async function createAuthority(name: string): Promise<Authority> {
  const keys = await newKeys();
  const common = { signingAlgorithm: ecdsa, notBefore: new Date(Date.now() - hourMs) };
  const own = await X509CertificateGenerator.createSelfSigned({
    ...common,
    name: `CN=${name}`,
    keys,
    notAfter: new Date(Date.now() + hourMs),
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  return {
    ca: own.toString("pem"),
    async issue({
      name: subject,
      notAfter = new Date(Date.now() + hourMs),
      altName = { type: "ip", value: "127.0.0.1" },
    }) {
      const { publicKey, privateKey } = await newKeys();
      const certificate = await X509CertificateGenerator.create({
        ...common,
        subject: `CN=${subject}`,
        issuer: own.subject,
        notAfter,
        publicKey,
        signingKey: keys.privateKey,
        extensions: [new SubjectAlternativeNameExtension([altName])],
      });
      const pkcs8 = Buffer.from(await crypto.subtle.exportKey("pkcs8", privateKey)).toString(
        "base64",
      );
      return {
        cert: certificate.toString("pem"),
        key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`,
      };
    },
  };
}

function newKeys() {
  return crypto.subtle.generateKey(ecdsa, true, ["sign", "verify"]);
}
