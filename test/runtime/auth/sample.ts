/** What the tests of authorizers ask of them, and how they await a refusal. */
import type { AddedCredentials, Authorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { hangSignal } from "../../tooling/hang.ts";

export async function addCredentials(
  authorizer: Authorizer,
  url = "https://agent.example/",
): Promise<AddedCredentials> {
  return authorizer.authorize({
    method: "POST",
    url: new URL(url),
    headers: {},
    body: new Uint8Array(),
    signal: hangSignal(),
  });
}

export async function tokenOf(authorizer: Authorizer): Promise<string> {
  const { headers } = await addCredentials(authorizer);
  return (headers?.authorization ?? "").replace(/^Bearer /, "");
}

/** A clock that a test moves, for authorizers that renew. */
export function movableClock() {
  const clock = { nowMs: Date.now() };
  return { clock, cacheOptions: { now: () => clock.nowMs, random: () => 0 } };
}
