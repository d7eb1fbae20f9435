/** Stores where the app is installed, and finds the bot token of a workspace. */

import {
  type CachedValue,
  createCachedValue,
  createRecentEntries,
} from "@sekisho/runtime/async/cache.ts";
import * as z from "zod";
import { type BotTokens, SlackError } from "../slack/api/slack.ts";
import type { Installation } from "../task/messages.ts";

/** The stored JSON of one installation. */
export const storedInstallationSchema = z.object({
  botToken: z.string().regex(/^xox[a-z]-/),
  /** Absent if the app is installed for the whole organization. */
  team: z.string().optional(),
  enterprise: z.string().optional(),
  botUser: z.string(),
  installedAtMs: z.int(),
  scopes: z.array(z.string()),
});
export type StoredInstallation = z.infer<typeof storedInstallationSchema>;

/** `id` is a workspace id (`T…`), or an organization id (`E…`) if the app is installed for the whole organization. */
export type Installations = {
  /** Resolves to undefined if the app is not installed there. Rejects if the installation cannot be read. */
  get(request: { id: string }): Promise<StoredInstallation | undefined>;
  /** Replaces an earlier installation. */
  put(request: { id: string; installation: StoredInstallation }): Promise<void>;
};

/** Throws on anything but a Slack id. The id becomes part of a secret's name, where a slash would reach other secrets. */
export function requireInstallationId(id: string): void {
  if (!/^[TE][A-Z0-9]{1,63}$/.test(id))
    throw new Error("The id is not a Slack workspace or organization id.");
}

/** Finds the workspace that a token belongs to, with the organization for an organization-wide token. Undefined if Slack rejects it. */
export type FindTeam = (token: string) => Promise<Installation | undefined>;

/** A rotated token takes effect after this time, or as soon as Slack rejects the old one. */
const keepMs = 60_000;
const maxInstallations = 500;

/**
 * Tries the workspace's own installation, then the one of its organization, then the configured `botToken`. With
 * `installations`, the configured token serves only its own workspace: it must never be used for another customer.
 */
export function createBotTokens(options: {
  botToken: () => Promise<string | undefined>;
  installations?: Installations | undefined;
  /** Needed with `installations`. Without it, the configured token is never used. */
  teamOf?: FindTeam | undefined;
  now?: () => number;
}): BotTokens {
  const { botToken, installations, teamOf, now = Date.now } = options;
  const entries = createRecentEntries<CachedValue<string>>({ maxEntries: maxInstallations });

  /** In order of precedence. Each token is read only when the previous one is not used. */
  async function* candidates({ team, enterprise }: Installation): AsyncGenerator<string> {
    if (installations !== undefined) {
      for (const id of enterprise === undefined ? [team] : [team, enterprise]) {
        const storedInstallation = await installations.get({ id });
        if (storedInstallation !== undefined) yield storedInstallation.botToken;
      }
    }
    const configuredToken = await botToken();
    if (configuredToken === undefined || configuredToken === "") return;
    const own = installations === undefined ? { team } : await teamOf?.(configuredToken);
    if (own === undefined) return;
    if (own.enterprise === undefined ? own.team === team : own.enterprise === enterprise)
      yield configuredToken;
  }

  async function findToken(installation: Installation, isUsable = (_token: string) => true) {
    for await (const token of candidates(installation)) if (isUsable(token)) return token;
    return undefined;
  }

  /** Returns undefined while `triedToken` is still one of the candidates, because no other token has replaced it. */
  async function findReplacement({
    installation,
    triedToken,
  }: {
    installation: Installation;
    triedToken: string;
  }) {
    let first: string | undefined;
    for await (const token of candidates(installation)) {
      if (token === triedToken) return undefined;
      first ??= token;
    }
    return first;
  }

  function readCached({ team, enterprise }: Installation): CachedValue<string> {
    return entries.use(JSON.stringify([team, enterprise ?? null]), () => {
      const cachedToken: CachedValue<string> = createCachedValue({
        now,
        async load(last) {
          const value = await findToken({ team, enterprise }).catch((error: unknown) => {
            // The last token may still be good. Slack rejects it if it is not.
            if (last !== undefined) return last;
            throw error;
          });
          if (value !== undefined) return { value, keepMs };
          // The secret was removed on purpose, so its last value must not be used either.
          cachedToken.forget(() => true);
          throw new SlackError("gone");
        },
      });
      return cachedToken;
    });
  }

  return {
    tokenOf: async (installation) => readCached(installation).get(),
    async readNewerToken({ installation, tried: triedToken, inDoubt = false }) {
      const cachedToken = readCached(installation);
      const knownToken = cachedToken.peek()?.value;
      if (knownToken !== undefined && knownToken !== triedToken) return knownToken;
      try {
        const token = await (inDoubt
          ? findReplacement({ installation, triedToken })
          : findToken(installation, (each) => each !== triedToken));
        if (token !== undefined) cachedToken.set({ value: token, keepMs });
        return token;
      } catch (error) {
        if (error instanceof SlackError) return undefined;
        throw error;
      }
    },
  };
}
