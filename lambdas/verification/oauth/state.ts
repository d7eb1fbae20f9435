/** The `state` of the installation flow: a short-lived proof that this browser began it here (RFC 6749, section 10.12). */
import { createHash, hkdfSync } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";
import { installSeconds } from "./browser-cookie.ts";

/** The one purpose: the key is made for it, and the token says so once more. */
const purpose = "sekisho slack install state";
const algorithm = "HS256";

/** `browser` is what the browser alone keeps, in its cookie; of it the state holds a hash. */
export function issueState({
  clientSecret,
  browser,
  nowMs,
}: {
  clientSecret: string;
  browser: string;
  nowMs: number;
}): Promise<string> {
  const issuedAt = Math.floor(nowMs / 1000);
  return new SignJWT({ browser: hashOf(browser) })
    .setProtectedHeader({ alg: algorithm })
    .setAudience(purpose)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + installSeconds)
    .sign(keyOf(clientSecret));
}

/** Whether the state is ours, in time, and of this browser. */
export async function isStateOf({
  clientSecret,
  state,
  browser,
  nowMs,
}: {
  clientSecret: string;
  state: string;
  browser: string;
  nowMs: number;
}): Promise<boolean> {
  try {
    const { payload } = await jwtVerify(state, keyOf(clientSecret), {
      algorithms: [algorithm],
      audience: purpose,
      requiredClaims: ["exp", "iat"],
      currentDate: new Date(nowMs),
    });
    // Hashes of a value that nobody else has: comparing them tells nothing by its time.
    return payload.browser === hashOf(browser);
  } catch {
    return false;
  }
}

function keyOf(clientSecret: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", clientSecret, "", purpose, 32));
}

function hashOf(browser: string): string {
  return createHash("sha256").update(browser).digest("base64url");
}
