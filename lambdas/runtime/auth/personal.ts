/** Authorizers whose credentials belong to one person each. */
import { createRecentEntries } from "../async/cache.ts";
import type { AddedCredentials, Authorizer, OutgoingRequest } from "./authorizer.ts";

/** Beyond them, a person costs another call of the issuer. */
const maxPersons = 1000;

type Person = { request: OutgoingRequest; authorizer: Authorizer };

/**
 * Keeps one authorizer for each person, and one for the calls without a person, so that the credentials of one never serve another. `create`
 * gets a function that returns the person's latest request. Keeps those that were used last.
 */
export function createPersonalAuthorizer(
  create: (latestRequest: () => OutgoingRequest) => Authorizer,
): Authorizer {
  const persons = createRecentEntries<Person>({ maxEntries: maxPersons });
  /** Whose credentials they are, to renew them after a refusal. */
  const owners = new WeakMap<AddedCredentials, Authorizer>();
  return {
    async authorize(request) {
      const person = persons.use(readPersonKey(request), () => {
        const entry: Person = { request, authorizer: create(() => entry.request) };
        return entry;
      });
      person.request = request;
      const credentials = await person.authorizer.authorize(request);
      owners.set(credentials, person.authorizer);
      return credentials;
    },
    refresh: (refused) => owners.get(refused)?.refresh?.(refused),
  };
}

function readPersonKey({ asker, received }: OutgoingRequest): string {
  const { team, enterprise, user, email } = asker?.person ?? {};
  return JSON.stringify([received?.person, team, enterprise, user, email]);
}
