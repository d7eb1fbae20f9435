/** What a check is: one thing that is looked at, what was found, and what to do about it. */

/** `skipped`: it does not apply, or needs something that is missing and told of elsewhere. */
export type CheckStatus = "ok" | "warning" | "failed" | "skipped";

/** Texts for a person, without secrets and without texts of others. What is wrong always comes with what to do. */
export type Finding =
  | { status: "ok" | "skipped"; what: string }
  | { status: "warning" | "failed"; what: string; remedy: string };

export type Check = {
  name: string;
  /** May reject: that is a failure of this check alone. */
  run(request: { signal: AbortSignal }): Promise<Finding>;
  /** Where the usual time is too short. */
  timeoutMs?: number;
};

export type CheckGroup = { group: string; checks: Check[] };

export function okFinding(what: string): Finding {
  return { status: "ok", what };
}

export function skippedFinding(what: string): Finding {
  return { status: "skipped", what };
}

export function warningFinding(what: string, remedy: string): Finding {
  return { status: "warning", what, remedy };
}

export function failedFinding(what: string, remedy: string): Finding {
  return { status: "failed", what, remedy };
}

/** The check as it is, or skipped with `words` where what it needs is not there: why not is told by another check. */
export function skipUnless(needed: () => Promise<unknown>, words: string, check: Check): Check {
  return {
    ...check,
    async run(request) {
      const isThere = await needed().then(
        () => true,
        () => false,
      );
      return isThere ? check.run(request) : skippedFinding(words);
    },
  };
}

/** Of words that say both: the first sentence is what was found. `otherwise` is what to do where they do not say. */
export function toFailedFinding(words: string, otherwise: string): Finding {
  const [, what = words, remedy = otherwise] =
    /^(.+?(?:[.?](?= [A-Z])|[.?;](?= npx ))) (.+)$/s.exec(words.trim()) ?? [];
  return failedFinding(what.replace(/;$/, "."), remedy);
}

// What several checks need is asked for once, when the first of them does.

export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= work();
    return asked;
  };
}
