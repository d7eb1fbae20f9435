/** Loads an authorizer with the first request, because most processes never need it. */
import { type Authorizer, codeOf, createCredentialError } from "./authorizer.ts";

/** A load that failed is repeated for the next request. */
export function createLazyAuthorizer(load: () => Promise<Authorizer>): Authorizer {
  let authorizer: Promise<Authorizer> | undefined;

  async function loadOnce(): Promise<Authorizer> {
    authorizer ??= load();
    try {
      return await authorizer;
    } catch (error) {
      authorizer = undefined;
      throw createCredentialError({ code: codeOf(error) });
    }
  }

  return {
    authorize: async (request) => (await loadOnce()).authorize(request),
    // It runs before the next request does, because both wait for the same promise.
    refresh: (refused) => void authorizer?.then(({ refresh }) => refresh?.(refused)),
  };
}
