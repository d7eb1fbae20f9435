/** The checks of Slack's side, the same on one machine and in a stage: tokens, entry, signing secret and allowlist. */
import { randomUUID } from "node:crypto";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { formatSecretName } from "../../../lambdas/shared/config/secrets.ts";
import type { SecretReference } from "../../../lambdas/shared/config/values.ts";
import { toPrintable } from "../../../lambdas/verification/checks/question.ts";
import { botScopes } from "../../../lambdas/verification/slack/api/manifest.ts";
import { tokenRefusalText } from "../../local/socket-mode-identity.ts";
import { lacksCredentials } from "../aws/aws-failure.ts";
import { findExpectedShape } from "../aws/secret-shape.ts";
import { type Check, CheckEnded, type Finding, failed, need, ok, row, skipped, warning } from "./check.ts";
import { askEntry, askSlack, type SlackAnswer } from "./http.ts";

export type ReadSecret = (reference: SecretReference) => Promise<string>;

/** Rejects with a CheckEnded that says why the secret cannot be read. It does not repeat the error, which may be AWS's text. */
export async function requireSecret(reference: SecretReference, readSecret: ReadSecret): Promise<string> {
  const name = formatSecretName(reference);
  const why = (thrown: unknown) => {
    if ("env" in reference) return "is not set here.";
    return `cannot be read${lacksCredentials(thrown) ? ": there are no AWS credentials here" : " with these credentials"}.`;
  };
  const value = await readSecret(reference).catch((thrown: unknown) => {
    throw new CheckEnded(skipped(`${name} ${why(thrown)}`));
  });
  if (value.trim() === "") throw new CheckEnded(skipped(`${name} is empty.`));
  return value.trim();
}

/** Asks Slack whose this machine's bot token is. Rejects with a CheckEnded where Slack cannot be asked. */
export async function askIdentity(
  { slack }: Config,
  readSecret: ReadSecret,
  signal: AbortSignal,
): Promise<SlackAnswer> {
  const token = await requireSecret(slack.botToken, readSecret).catch((thrown) => {
    throw thrown instanceof CheckEnded ? withoutToken(thrown.message, slack) : thrown;
  });
  const expected = findExpectedShape({ use: "bot token", value: token });
  // A value of another shape may be another secret, so it is sent nowhere.
  if (expected !== undefined || !isHeaderSafe(token)) {
    const what = `${formatSecretName(slack.botToken)} is not a bot token, which is ${expected ?? "a text without spaces"}.`;
    throw new CheckEnded(failed(what, tokenRefusalText({ error: "not_allowed_token_type", kind: "bot" })));
  }
  const answer = await askSlack({ method: "auth.test", token, apiUrl: slack.apiUrl, signal });
  if (answer === undefined) throw new CheckEnded(unreachable(slack));
  return answer;
}

/** A bot token may be missing where workspaces install the app, so its absence fails nothing here. */
export function withoutToken(what: string, { install }: Config["slack"]): CheckEnded {
  const others = install === undefined ? "" : " Workspaces get tokens of their own at /slack/install.";
  return new CheckEnded(skipped(`${what}${others}`));
}

export function unreachable({ apiUrl }: Config["slack"]): Finding {
  const remedy = "Check this machine's network, firewall and proxy, and slack.apiUrl.";
  return failed(`Slack cannot be reached at ${new URL(apiUrl).origin}, or something else answers there.`, remedy);
}

function refused({ name, error, kind }: { name: string; error: string; kind: "app" | "bot" }): Finding {
  const what = `Slack does not accept ${name} (${error}).`;
  if (error === "ratelimited") return warning(what, "Slack asks for fewer calls: try again in a minute.");
  return failed(what, tokenRefusalText({ error, kind }));
}

/** Whether a header can hold the token. */
function isHeaderSafe(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}

/** `identity` rejects with a CheckEnded where Slack was not asked. */
export function tokenChecks({
  config,
  identity,
  manifestCommand,
  timeoutMs = 30_000,
}: {
  config: Config;
  identity: () => Promise<SlackAnswer>;
  manifestCommand: string;
  timeoutMs?: number;
}): Check[] {
  const name = formatSecretName(config.slack.botToken);
  const scopesUnknown = "Slack does not accept the bot token, so its scopes are unknown.";
  const answered = need(identity, scopesUnknown);
  return [
    row({
      name: "bot token",
      timeoutMs,
      needs: identity,
      check({ error, fields: { user, team, team_id } }) {
        if (error !== undefined) return refused({ name, error, kind: "bot" });
        const [bot, workspace, id] = [user, team, team_id].map((text) => toPrintable(String(text ?? "unknown")));
        return ok(`@${bot} in ${workspace} (${id}).`);
      },
    }),
    row({
      name: "token scopes",
      timeoutMs,
      needs: answered,
      check({ error, scopes }) {
        if (error !== undefined) return skipped(scopesUnknown);
        if (scopes === undefined) return skipped("Slack did not say which scopes the token has.");
        const needed = botScopes(config);
        const missing = needed.filter((scope) => !scopes.includes(scope));
        if (missing.length === 0) return ok(`All ${needed.length} are there.`);
        const remedy = `Paste what ${manifestCommand} prints under "App Manifest" of the app, and reinstall the app ("Install App").`;
        return failed(`Missing: ${missing.join(", ")}.`, remedy);
      },
    }),
  ];
}

/** Asks Slack for an address of Socket Mode. Nothing connects to it. */
export function appTokenCheck({ slack }: Config, readSecret: ReadSecret): Check {
  const name = formatSecretName(slack.appToken);
  return {
    name: "app token",
    async run(signal) {
      const token = await requireSecret(slack.appToken, readSecret).catch((thrown) => {
        throw thrown instanceof CheckEnded
          ? new CheckEnded(skipped(`${thrown.message} Only Socket Mode needs it.`))
          : thrown;
      });
      if (!token.startsWith("xapp-") || !isHeaderSafe(token)) {
        return failed(
          `${name} is not an app token.`,
          tokenRefusalText({ error: "not_allowed_token_type", kind: "app" }),
        );
      }
      const answer = await askSlack({ method: "apps.connections.open", token, apiUrl: slack.apiUrl, signal });
      if (answer === undefined) return unreachable(slack);
      if (answer.error !== undefined) return refused({ name, error: answer.error, kind: "app" });
      return ok("Slack would open a connection of Socket Mode.");
    },
  };
}

/** The endpoint of Slack's events under test. The other fields are sentences for a person; `name` begins one. */
export type Entry = {
  url: string;
  name: string;
  /** What to do where nothing answers. */
  start: string;
  /** How the entry gets the right secret. */
  setSecret: string;
  readLog: string;
  /** True for a zone that may use Socket Mode, which needs no signing secret. */
  mayLackSecret: boolean;
};

const whereSecretIs = 'It is under "Basic Information", "App Credentials" of the app.';

/** `open` rejects with a CheckEnded where there is no entry to look at. */
export function entryChecks({
  reference,
  readSecret,
  open,
  now = Date.now,
}: {
  /** The signing secret. */
  reference: SecretReference;
  readSecret: ReadSecret;
  open: () => Promise<Entry>;
  now?: () => number;
}): { entry: Check; signingSecret: Check } {
  const name = formatSecretName(reference);
  const entry = row({
    name: "entry",
    needs: open,
    async check({ url, name, start, setSecret, readLog, mayLackSecret }, signal) {
      const status = (await askEntry({ url, challenge: randomUUID(), signal }))?.status;
      if (status === undefined) return failed(`Nothing answers at ${url}.`, start);
      if (status === 401) return ok(`${name} refuses an unsigned request.`);
      if (status === 200) {
        const remedy = "Take it off the network: whatever answers there is no entry of Sekisho's.";
        return failed(`${url} accepts an unsigned request.`, remedy);
      }
      if (status === 500 && mayLackSecret) return ok(`${name} accepts nothing over HTTP, as with Socket Mode.`);
      if (status === 500) return failed(`${name} has no signing secret (HTTP 500).`, setSecret);
      return failed(`${url} answers HTTP ${status}, and not 401, to an unsigned request.`, readLog);
    },
  });
  const signingSecret = row({
    name: "signing secret",
    needs: async () => ({ signingSecret: await requireSecret(reference, readSecret), entry: await open() }),
    async check({ signingSecret, entry: { url, name: entryName, start, setSecret, readLog } }, signal) {
      const challenge = randomUUID();
      const request = { url, challenge, signingSecret, signal };
      // Twice the age that an entry may accept.
      const longAgo = () => now() - 600_000;
      const [signed, stale] = await Promise.all([
        askEntry({ ...request, now }),
        askEntry({ ...request, now: longAgo }),
      ]);
      if (signed === undefined || stale === undefined) return failed(`Nothing answers at ${url}.`, start);
      const { status } = signed;
      if (status === 401) {
        const remedy = `${setSecret} ${whereSecretIs} If it is the right one, check this machine's clock.`;
        return failed(`${entryName} does not accept what is signed with ${name}.`, remedy);
      }
      if (status === 500) return failed(`${entryName} has no signing secret (HTTP 500).`, setSecret);
      if (status !== 200) return failed(`${entryName} answers HTTP ${status} to a signed event.`, readLog);
      if (signed.body !== challenge) return failed(`What answers at ${url} does not know Slack's events.`, readLog);
      if (stale.status !== 401) {
        const what = `${entryName} accepts what was signed ten minutes ago (HTTP ${stale.status}).`;
        return failed(what, `${readLog} Check its clock.`);
      }
      const expected = findExpectedShape({ use: "signing secret", value: signingSecret });
      const accepts = `${entryName} accepts what is signed with ${name}`;
      if (expected === undefined) return ok(`${accepts}, unless it is old.`);
      return warning(`${accepts}, but Slack's secrets are ${expected}.`, `Is it the app's own? ${whereSecretIs}`);
    },
  });
  return { entry, signingSecret };
}

/** An empty allowlist lets nobody in, which looks in Slack as if nothing worked. */
export function allowlistCheck({
  configured,
  added,
  stageOption,
}: {
  configured: number;
  /** Counts the rules of `sekisho allow`. */
  added: () => Promise<number>;
  stageOption: string;
}): Check {
  return row({
    name: "who may ask",
    needs: added,
    check(count) {
      if (configured + count > 0) return ok(`${configured} rules of the configuration, ${count} that were added.`);
      const command = `npx sekisho allow add --team T012AB3CD${stageOption}`;
      return warning("Nobody: there is no rule.", `${command}, with your workspace's id.`);
    },
  });
}
