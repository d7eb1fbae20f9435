/** The issuer of an AWS account: it signs web identity tokens and publishes its public key. */
import { randomUUID } from "node:crypto";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { startWebServer } from "../../../doubles/web-server.ts";

export type TokenIssuer = {
  /** The `iss` of its tokens. */
  url: string;
  issue(request: {
    audiences: string[];
    subject: string;
    durationSeconds: number;
    claims: JWTPayload;
  }): Promise<string>;
  /** All tokens that it has issued. */
  issued: string[];
  close(): Promise<void>;
};

export async function startTokenIssuer(): Promise<TokenIssuer> {
  const { publicKey, privateKey } = await generateKeyPair("RS256");
  const kid = randomUUID();
  const keys = [{ ...(await exportJWK(publicKey)), kid, alg: "RS256", use: "sig" }];
  const issuedTokens: string[] = [];
  const server = await startWebServer({
    async handle({ target }) {
      if (target === "/.well-known/jwks.json") return Response.json({ keys });
      if (target !== "/.well-known/openid-configuration")
        return new Response(null, { status: 404 });
      return Response.json({
        issuer: server.url,
        jwks_uri: `${server.url}/.well-known/jwks.json`,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256", "ES384"],
      });
    },
  });
  return {
    url: server.url,
    issued: issuedTokens,
    async issue({ audiences, subject, durationSeconds, claims }) {
      const [only = ""] = audiences;
      const nowSeconds = Math.floor(Date.now() / 1000);
      const token = await new SignJWT(claims)
        .setProtectedHeader({ alg: "RS256", kid, typ: "JWT" })
        .setIssuer(server.url)
        .setAudience(audiences.length === 1 ? only : audiences)
        .setSubject(subject)
        .setJti(randomUUID())
        .setIssuedAt(nowSeconds)
        .setExpirationTime(nowSeconds + durationSeconds)
        .sign(privateKey);
      issuedTokens.push(token);
      return token;
    },
    close: server.close,
  };
}
