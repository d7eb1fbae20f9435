/** The cookie that holds a token: readable by no script, sent to no other site, gone with the browser. Pure. */

const name = "sekisho_operator";
/** Browsers keep no cookie above 4,096 bytes, its name and attributes included. */
const maxTokenLength = 3800;
const tokenPattern = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/;

/** Whether a cookie can hold it as it is (RFC 6265, section 4.1.1). */
export function fitsCookie(token: string): boolean {
  return token.length <= maxTokenLength && tokenPattern.test(token);
}

/** `host` is the one that the browser used: on loopback there is no TLS to ask for. */
export function cookieOf({ token, host }: { token: string; host: string | undefined }): string {
  return `${name}=${token}; ${attributesFor(host)}`;
}

export function endedCookie({ host }: { host: string | undefined }): string {
  return `${name}=; Max-Age=0; ${attributesFor(host)}`;
}

export function tokenIn(header: string | undefined): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const [key, ...value] = pair.trim().split("=");
    if (key === name) return value.join("=") || undefined;
  }
  return undefined;
}

function attributesFor(host: string | undefined): string {
  const isLoopback = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d+)?$/.test(host ?? "");
  return `Path=/; HttpOnly; SameSite=Strict${isLoopback ? "" : "; Secure"}`;
}
