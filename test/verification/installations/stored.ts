/** An installation as it is stored. */
import type { StoredInstallation } from "@sekisho/verification/installations/installations.ts";

export function sampleInstallation(changes: Partial<StoredInstallation> = {}): StoredInstallation {
  return {
    botToken: "xoxb-installed",
    team: "T1",
    botUser: "UBOT",
    installedAtMs: 1_790_000_000_000,
    scopes: ["chat:write"],
    ...changes,
  };
}
