/** The OAuth `state`: a short-lived token that proves that this browser started the installation (RFC 6749, section 10.12). */
import { createHash, hkdfSync, randomUUID } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";

/** Separates these tokens from other uses of the client secret. It is part of the key and the audience of the token. */
const purpose = "sekisho slack install state";
const algorithm = "HS256";

/** `browser` is the random value in the browser's cookie. The state holds only its hash. */
export function issueState(request: {
  clientSecret: string;
  /** A state is valid only with the salt that it was issued with. */
  salt?: string | undefined;
  browser: string;
  nowMs: number;
}): Promise<string> {
  const { clientSecret, salt = "", browser, nowMs } = request;
  const issuedAt = Math.floor(nowMs / 1000);
  return new SignJWT({ browser: hashOf(browser) })
    .setProtectedHeader({ alg: algorithm })
    .setAudience(purpose)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + installSeconds)
    .setJti(randomUUID())
    .sign(keyOf(clientSecret, salt));
}

/**
 * Returns undefined unless the state is genuine, current and issued to this browser. Compare states by `id` and not by their
 * text: base64url decoding is lenient, so the same state can be written in several ways.
 */
export async function verifyState(request: {
  clientSecret: string;
  salt?: string | undefined;
  state: string;
  browser: string;
  nowMs: number;
}): Promise<{ id: string; issuedAtMs: number } | undefined> {
  const { clientSecret, salt = "", state, browser, nowMs } = request;
  try {
    const { payload } = await jwtVerify(state, keyOf(clientSecret, salt), {
      algorithms: [algorithm],
      audience: purpose,
      requiredClaims: ["exp", "iat", "jti"],
      currentDate: new Date(nowMs),
    });
    // A plain comparison is safe here: the timing reveals at most a hash of a random value.
    if (payload.browser !== hashOf(browser)) return undefined;
    const { jti: id, iat } = payload;
    return id === undefined || iat === undefined ? undefined : { id, issuedAtMs: iat * 1000 };
  } catch {
    return undefined;
  }
}

function keyOf(clientSecret: string, salt: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", clientSecret, salt, purpose, 32));
}

function hashOf(browser: string): string {
  return createHash("sha256").update(browser).digest("base64url");
}

/** How long a user may take from the install page to the redirect. */
export const installSeconds = 600;

/** The prefix makes browsers reject the cookie unless it is Secure, has no Domain and has the path `/` (RFC 6265bis, section 4.1.3.2). */
const name = "__Host-sekisho-install";

/** Lax, because a strict cookie would not be sent when Slack redirects back. */
const attributes = "Path=/; Secure; HttpOnly; SameSite=Lax";

export function browserCookie(browser: string): string {
  return `${name}=${browser}; Max-Age=${installSeconds}; ${attributes}`;
}

/** Deletes the cookie. */
export const noBrowserCookie = `${name}=; Max-Age=0; ${attributes}`;

/** Returns undefined if there is no cookie, or several: another site may have set one of them. */
export function readBrowserId(cookieHeader: string | null): string | undefined {
  const values = (cookieHeader ?? "").split(";").flatMap((pair) => {
    const [key, value] = pair.trim().split("=", 2);
    return key === name && value !== undefined && value !== "" ? [value] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}
