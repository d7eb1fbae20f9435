/** Loads what makes the asker's tokens when the first one is needed. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { AskerTokens } from "./asker.ts";

/**
 * A load that failed is repeated for the next token. Every failure is `undelivered`, because a call is sent only with its token.
 * `onFailure` gets the error that `issue` rejects with.
 */
export function createLazyTokens(options: {
  load: () => Promise<AskerTokens>;
  onFailure?: (error: SekishoError) => void;
}): AskerTokens {
  const { load, onFailure } = options;
  let tokens: Promise<AskerTokens> | undefined;

  async function loadOnce(): Promise<AskerTokens> {
    tokens ??= load();
    try {
      return await tokens;
    } catch (error) {
      tokens = undefined;
      throw error;
    }
  }

  return {
    async issue(request) {
      try {
        const { issue } = await loadOnce();
        return await issue(request);
      } catch (cause) {
        const error =
          cause instanceof SekishoError
            ? cause
            : new SekishoError("unavailable", { cause, certainty: "undelivered" });
        // A call that was given up says nothing about the keys.
        if (!request.signal.aborted) onFailure?.(error);
        throw error;
      }
    },
  };
}
