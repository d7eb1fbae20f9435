/** What the tests of cards have in common: settings of a host as the configuration gives them. */
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";

export const url = "https://agents.example/a2a";

export const skill = { id: "reports", name: "Reports", description: "Writes reports.", tags: ["report"] };
export const extendedSkill = { ...skill, id: "ledgers", name: "Ledgers" };

const bearer = { type: "bearer", tokens: [{ env: "TOKEN" }] } as const;

/** The rest of what a card is made of. */
export function settingsOf({
  a2a = {},
  authenticator = bearer,
}: {
  a2a?: object;
  authenticator?: object;
} = {}): Pick<Config["execution"], "a2a" | "authenticator"> & { url: string; streaming: boolean; push: boolean } {
  const { execution } = parseConfig({ json: { execution: { a2a, authenticator }, destinations: {}, routes: [] } });
  return { a2a: execution.a2a, authenticator: execution.authenticator, url, streaming: true, push: true };
}
