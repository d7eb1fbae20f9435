/** Where the app is installed, and which bot token belongs to an installation. */
import * as z from "zod";
import { type CachedValue, createCachedValue, createRecentEntries } from "../../shared/async/cache.ts";
import { callWebApi, toSlackError } from "../slack/api/call.ts";
import { type BotTokens, SlackError } from "../slack/api/slack.ts";
import type { Installation } from "../task/messages.ts";

/** As it is stored: JSON, one installation a secret. */
export const storedInstallationSchema = z.object({
  botToken: z.string().regex(/^xox[a-z]-/),
  /** Absent where the whole organization has it. */
  team: z.string().optional(),
  enterprise: z.string().optional(),
  botUser: z.string(),
  installedAtMs: z.int(),
  scopes: z.array(z.string()),
});
export type StoredInstallation = z.infer<typeof storedInstallationSchema>;

/** `id` is the workspace's, or the organization's where it is installed there as a whole: T… or E…. */
export type Installations = {
  /** Undefined where there is none; rejects where nobody knows. */
  get(request: { id: string }): Promise<StoredInstallation | undefined>;
  /** Takes the place of an earlier one. */
  put(request: { id: string; installation: StoredInstallation }): Promise<void>;
};

/** Becomes part of a name, so nothing else may pass. */
export function requireInstallationId(id: string): void {
  if (!/^[TE][A-Z0-9]{1,63}$/.test(id)) throw new Error("No id of a workspace or an organization.");
}

/** The workspace that a token is of, and the organization where it is that as a whole; undefined where Slack does not take it. */
export type FindTeam = (token: string) => Promise<Installation | undefined>;

/** A rotated token is used after that, or at once where Slack takes the old one no longer. */
const keepMs = 60_000;
const maxInstallations = 500;

/**
 * The workspace's own installation goes first, then that of its organization, then the configured token (`botToken`, undefined
 * where there is none): with `installations` only for the workspace that it is of, since a token must never be used for
 * whoever else has installed the app.
 */
export function createBotTokens({
  botToken,
  installations,
  teamOf,
  now = Date.now,
}: {
  botToken: () => Promise<string | undefined>;
  installations?: Installations | undefined;
  /** Needed with `installations`: without it the configured token is used for nobody. */
  teamOf?: FindTeam | undefined;
  now?: () => number;
}): BotTokens {
  const entries = createRecentEntries<CachedValue<string>>({ maxEntries: maxInstallations });

  /** In the order in which they count; each one is read only when it is asked for. */
  async function* candidates({ team, enterprise }: Installation): AsyncGenerator<string> {
    if (installations !== undefined) {
      for (const id of enterprise === undefined ? [team] : [team, enterprise]) {
        const found = await installations.get({ id });
        if (found !== undefined) yield found.botToken;
      }
    }
    const configured = await botToken();
    if (configured === undefined || configured === "") return;
    if (installations === undefined || (await isOf({ token: configured, team, enterprise }))) yield configured;
  }

  async function isOf({ token, team, enterprise }: Installation & { token: string }): Promise<boolean> {
    const own = await teamOf?.(token);
    if (own === undefined) return false;
    return own.enterprise === undefined ? own.team === team : own.enterprise === enterprise;
  }

  /** The first one that is not `besides`. */
  async function findToken(request: { installation: Installation; besides?: string }): Promise<string | undefined> {
    for await (const token of candidates(request.installation)) if (token !== request.besides) return token;
    return undefined;
  }

  /** While `tried` is still one of them, nothing has replaced it. */
  async function findReplacement({ installation, tried }: { installation: Installation; tried: string }) {
    let first: string | undefined;
    for await (const token of candidates(installation)) {
      if (token === tried) return undefined;
      first ??= token;
    }
    return first;
  }

  function cachedOf(installation: Installation): CachedValue<string> {
    return entries.use(createInstallationKey(installation), () => {
      const cached: CachedValue<string> = createCachedValue({
        now,
        async load(last) {
          const value = await findToken({ installation }).catch((error: unknown) => {
            // Slack itself will say if it does not take this one any more.
            if (last !== undefined) return last;
            throw error;
          });
          if (value !== undefined) return { value, keepMs };
          // Whoever took the secret away does not want it to be used.
          cached.forget(() => true);
          throw new SlackError("gone");
        },
      });
      return cached;
    });
  }

  return {
    tokenOf: async (installation) => cachedOf(installation).get(),
    async newerThan({ installation, tried, inDoubt = false }) {
      const cached = cachedOf(installation);
      const known = cached.peek()?.value;
      if (known !== undefined && known !== tried) return known;
      try {
        const find = inDoubt ? findReplacement({ installation, tried }) : findToken({ installation, besides: tried });
        const token = await find;
        if (token !== undefined) cached.set({ value: token, keepMs });
        return token;
      } catch (thrown) {
        if (thrown instanceof SlackError) return undefined;
        throw thrown;
      }
    },
  };
}

function createInstallationKey({ team, enterprise }: Installation): string {
  return JSON.stringify([team, enterprise ?? null]);
}

const answerSchema = z.object({
  team_id: z.string(),
  enterprise_id: z.string().nullish(),
  is_enterprise_install: z.boolean().nullish(),
});

/**
 * A token is always the same one's, so Slack is asked once for it. A token that Slack does not take is asked about again after a
 * minute, since a workspace may give its access back. Rejects with a SlackError where Slack does not say.
 */
export function createFindTeam({
  apiUrl,
  timeoutMs = 3000,
  now = Date.now,
}: {
  apiUrl: string;
  timeoutMs?: number;
  now?: () => number;
}): FindTeam {
  let known: { token: string; team: CachedValue<Awaited<ReturnType<FindTeam>>> } | undefined;

  async function ask(token: string): ReturnType<FindTeam> {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const call = { apiUrl, method: "auth.test", args: {}, timeoutMs, signal };
      const { data } = answerSchema.safeParse(await callWebApi({ token: async () => token, ...call }));
      if (data === undefined) throw new SlackError("ambiguous");
      const isOfAll = data.is_enterprise_install === true && typeof data.enterprise_id === "string";
      return { team: data.team_id, ...(isOfAll ? { enterprise: data.enterprise_id ?? undefined } : {}) };
    } catch (thrown) {
      const error = toSlackError(thrown);
      if (error.kind === "gone") return undefined;
      throw error;
    }
  }

  function createTeam(token: string) {
    async function load() {
      const value = await ask(token);
      return { value, keepMs: value === undefined ? keepMs : Number.POSITIVE_INFINITY };
    }
    return createCachedValue({ load, now });
  }

  return async (token) => {
    if (known?.token !== token) known = { token, team: createTeam(token) };
    return known.team.get();
  };
}
