/** What a zone's process of a load run is started with: the JSON of its only argument. */

/** `config` is as in the configuration file; `file` is where the zone keeps its tasks. */
type ZoneSettings = { config: unknown; file: string };

export type ExecutionSettings = ZoneSettings & { atOnce: number; quietMs: number };

export type VerificationSettings = ZoneSettings & {
  executionUrl: string;
  slackApiUrl: string;
  signingSecret: string;
  botToken: string;
  /** The share of calls to the Execution zone that fail. */
  failing: number;
  seed: number;
  /** When the sweep comes, instead of two minutes after the delivery. */
  sweepAfterMs: number;
};

export function readSettings<T extends ZoneSettings>(): T {
  return JSON.parse(process.argv[2] ?? "") as T;
}
