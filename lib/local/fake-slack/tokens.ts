/** The app's installations and their tokens. OAuth codes turn into further tokens. */
import type { FakeSlackCaller } from "./reply.ts";
import { organization, workspace } from "./workspace.ts";

export type FakeSlackInstallation = { token: string; caller: FakeSlackCaller };

/** `botToken` is the first workspace's token. */
export function createFakeSlackTokens(
  botToken: string,
  otherTokens: { second?: string; organization?: string } = {},
) {
  const codes = new Map<string, FakeSlackCaller>();
  const revokedTokens = new Set<string>();
  const callers = new Map<string, FakeSlackCaller>([[botToken, { team: workspace.team }]]);
  if (otherTokens.second !== undefined) callers.set(otherTokens.second, { team: "TSECOND" });
  if (otherTokens.organization !== undefined)
    callers.set(otherTokens.organization, { enterprise: organization.id });

  return {
    /** `revoked`: the token was valid until the app was uninstalled. */
    find: (token: string) => (revokedTokens.has(token) ? "revoked" : callers.get(token)),
    all: (): FakeSlackInstallation[] => [...callers].map(([token, caller]) => ({ token, caller })),
    /** Makes a code that `redeem` takes once. */
    authorize(caller: FakeSlackCaller): string {
      const code = crypto.randomUUID();
      codes.set(code, caller);
      return code;
    },
    redeem(code: string): FakeSlackInstallation | undefined {
      const caller = codes.get(code);
      if (caller === undefined) return undefined;
      codes.delete(code);
      const token = `xoxb-${crypto.randomUUID()}`;
      callers.set(token, caller);
      return { token, caller };
    },
    revoke(caller: FakeSlackCaller): void {
      for (const [token, owner] of callers) {
        if (JSON.stringify(owner) !== JSON.stringify(caller)) continue;
        callers.delete(token);
        revokedTokens.add(token);
      }
    },
  };
}
