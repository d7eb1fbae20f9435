/** Which version of the product does what in a world with two of them, side by side on the same stores and queues. */
import type { SekishoError } from "@sekisho/contracts/errors.ts";
import type { PostKey } from "@sekisho/verification/slack/api/post-keys.ts";
import type { SlackApi, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import type { Transport } from "@sekisho/verification/transport/transport.ts";
import { chance, worldMs } from "../virtual-time.ts";
import type { World } from "../world.ts";
import { type KindOfNext, type Mix, mixes } from "./names.ts";
import { addNumber, readKey } from "./post-keys.ts";
import * as thisVersion from "./product.ts";

export type Product = typeof thisVersion;

export type Builds = Record<"old" | KindOfNext, Product>;

let builds: Builds | undefined;

/** For the rest of this process's life. */
export function useBuilds(options: Builds): void {
  builds = options;
}

function buildsOf(mix: string | undefined): {
  mixed: Mix | undefined;
  old: Product;
  next: Product;
} {
  if (mix === undefined) return { mixed: undefined, old: thisVersion, next: thisVersion };
  const [name = "", kind] = mix.split(":");
  if (builds === undefined) throw new Error("The next version was not built.");
  return { mixed: mixes[name], old: builds.old, next: builds[kind as KindOfNext] };
}

/** The version that reads the records at the end. */
export function newestProduct({ mix }: World): Product {
  return buildsOf(mix).next;
}

type Part = keyof Mix;

/** One of these per version, with a memory of its own; the function says which of them is to do the next thing. */
export function createTurns<T>({
  world,
  part,
  create,
}: {
  world: World;
  part: Part;
  create: (product: Product) => T;
}): () => T {
  const { mixed, old: oldProduct, next: nextProduct } = buildsOf(world.mix);
  const choice = mixed?.[part] ?? "old";
  const old = choice === "next" ? undefined : create(oldProduct);
  const next = choice === "old" ? undefined : create(nextProduct);
  const switchesAtMs = world.startMs + (world.isRestless ? 60_000 * chance() ** 2 : quietSwitchMs);

  function isNext(): boolean {
    switch (choice) {
      case "turns":
      case "next_first":
        return world.isRestless ? chance() < 0.5 : countTurn() % 2 === (choice === "turns" ? 1 : 0);
      case "seldom":
        return world.isRestless ? chance() < 1 / 12 : countTurn() % 12 === 0;
      case "upgrade":
        return worldMs() >= switchesAtMs;
      case "rollback":
        return worldMs() < switchesAtMs;
      default:
        return choice === "next";
    }
  }

  /** All processes of a part take turns. */
  function countTurn(): number {
    const count = world.turnsTaken.get(create.name) ?? 0;
    world.turnsTaken.set(create.name, count + 1);
    return count;
  }

  return () => {
    const chosen = (old !== undefined && next !== undefined ? isNext() : next !== undefined)
      ? next
      : old;
    return chosen as T;
  };
}

/** In the quiet world, while the agents of most stories work and their questions are open. */
const quietSwitchMs = 12_000;

/** Each version knows its own class of errors alone. */
export function slackFor({ product, slack }: { product: Product; slack: SlackApi }): SlackApi {
  if (product === thisVersion) return slack;
  const translate = (error: unknown) => {
    if (!(error instanceof thisVersion.SlackError)) throw error;
    const { kind, slackError, retryAfterMs, tooLarge }: SlackError = error;
    const details = {
      ...(slackError && { slackError }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      tooLarge,
    };
    throw new product.SlackError(kind, details);
  };
  const readRequest = (request: { key?: PostKey }) =>
    request.key === undefined ? request : { ...request, key: readKey(request.key) };
  return Object.fromEntries(
    Object.entries(slack).map(([name, call]) => [
      name,
      (request: object) =>
        (call as (request: object) => Promise<unknown>)(readRequest(request)).then(
          addNumbers,
          translate,
        ),
    ]),
  ) as unknown as SlackApi;
}

/** The messages of a thread, with the numbers of their keys. */
function addNumbers(result: unknown): unknown {
  if (!Array.isArray(result)) return result;
  return result.map((post) =>
    post.key === undefined ? post : { ...post, key: addNumber(post.key) },
  );
}

export function transportFor({
  product,
  transport,
}: {
  product: Product;
  transport: Transport;
}): Transport {
  if (product === thisVersion) return transport;
  const translate = (error: unknown) => {
    if (!(error instanceof thisVersion.SekishoError)) throw error;
    const { reason, certainty }: SekishoError = error;
    // A build of earlier sources reads `undelivered`.
    const options = { certainty, undelivered: certainty === "undelivered" };
    throw new product.SekishoError(reason, options);
  };
  return { send: (request) => transport.send(request).catch(translate) };
}
