/** Where the app is installed, and with which tokens; OAuth codes become further ones. */
import type { FakeSlackCaller } from "./reply.ts";
import { organization, workspace } from "./workspace.ts";

export type FakeSlackInstallation = { token: string; caller: FakeSlackCaller };

export type FakeSlackTokens = {
  /** `revoked`: the token was good until the app was uninstalled there. */
  of(token: string): FakeSlackCaller | "revoked" | undefined;
  all(): FakeSlackInstallation[];
  /** A code that `redeem` takes once. */
  authorize(caller: FakeSlackCaller): string;
  redeem(code: string): FakeSlackInstallation | undefined;
  revoke(caller: FakeSlackCaller): void;
};

export function createFakeSlackTokens({
  botToken,
  otherTokens = {},
  newToken = () => `xoxb-${crypto.randomUUID()}`,
}: {
  /** Of the workspace itself. */
  botToken: string;
  otherTokens?: { second?: string; organization?: string };
  newToken?: () => string;
}): FakeSlackTokens {
  const codes = new Map<string, FakeSlackCaller>();
  const revoked = new Set<string>();
  const callers = new Map<string, FakeSlackCaller>([[botToken, { team: workspace.team }]]);
  if (otherTokens.second !== undefined) callers.set(otherTokens.second, { team: "TSECOND" });
  if (otherTokens.organization !== undefined) callers.set(otherTokens.organization, { enterprise: organization.id });

  return {
    of: (token) => (revoked.has(token) ? "revoked" : callers.get(token)),
    all: () => [...callers].map(([token, caller]) => ({ token, caller })),
    authorize(caller) {
      const code = crypto.randomUUID();
      codes.set(code, caller);
      return code;
    },
    redeem(code) {
      const caller = codes.get(code);
      if (caller === undefined) return undefined;
      codes.delete(code);
      const token = newToken();
      callers.set(token, caller);
      return { token, caller };
    },
    revoke(caller) {
      for (const [token, owner] of callers) {
        if (JSON.stringify(owner) !== JSON.stringify(caller)) continue;
        callers.delete(token);
        revoked.add(token);
      }
    },
  };
}
