/** The memory of the installation flow between requests: which states were used, and how many installations there were today. */

export type InstallLedger = {
  /** True at most once for the state of each id: false when it was used before, and when the ledger can no longer tell. */
  useState(request: { id: string; issuedAtMs: number }): Promise<boolean>;
  /** Counts one installation; false where the day has no more. */
  countInstallation(): Promise<boolean>;
};

export const defaultMaxInstallsPerDay = 50;

/** UTC, such as 2026-11-22. */
export function dayOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 10);
}

// The cookie that binds an installation to the browser that began it.

/** How long one may take from the first address to the second. */
export const installSeconds = 600;
/** The prefix makes browsers refuse it without Secure, with a Domain, or below another path (RFC 6265bis, section 4.1.3.2). */
const name = "__Host-sekisho-install";
/** Lax, since Slack sends the browser back by a link. */
const attributes = "Path=/; Secure; HttpOnly; SameSite=Lax";

export function browserCookie(browser: string): string {
  return `${name}=${browser}; Max-Age=${installSeconds}; ${attributes}`;
}

/** Takes it back. */
export const noBrowserCookie = `${name}=; Max-Age=0; ${attributes}`;

/** Undefined where there is none, or more than one: nobody knows which one is ours then. */
export function browserOf(cookieHeader: string | null): string | undefined {
  const values = (cookieHeader ?? "").split(";").flatMap((pair) => {
    const [key, value] = pair.trim().split("=", 2);
    return key === name && value !== undefined && value !== "" ? [value] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}
