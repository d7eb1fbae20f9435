/**
 * Divides the slots of a process among its destinations. A destination that hangs, or whose agent names addresses that never respond, must
 * leave slots for the others, and for replies, cancels and deliveries. This is the only place that decides how much a destination may hold.
 */

/** A slot, or if none is free, the delay after which this caller will likely get one. */
type Taken = { release: (call?: { isMeasured: boolean }) => void } | { delayMs: number };

export type Slots = {
  take(): Promise<Taken>;
  /** True if less than half of the slots are taken, without the caller's own. A poll may then wait at the destination for news. */
  isIdle(): boolean;
};

/** A number of slots that work of several kinds shares. */
export type Share = {
  readonly max: number;
  /** Returns undefined if all are taken, or else a function that releases the slot. */
  tryTake(): (() => void) | undefined;
};

export function createShare({ max }: { max: number }): Share {
  let heldCount = 0;
  return {
    max,
    tryTake() {
      if (heldCount >= max) return undefined;
      heldCount += 1;
      return () => {
        heldCount -= 1;
      };
    },
  };
}

/**
 * Returns how many of the slots one destination may hold: less than half, but at least one. The only destination leaves a quarter of them
 * free where there are four or more.
 */
export function maxShare({ slots, destinations }: { slots: number; destinations: number }): number {
  if (destinations > 1) return Math.max(1, Math.ceil(slots / 2) - 1);
  return slots < 4 ? slots : slots - Math.ceil(slots / 4);
}

/** The slots of one destination. Sends, polls and transfers together are within its share of the process. */
export type DestinationSlots = {
  send: Slots;
  poll: Slots;
  /** For replies to questions and for cancels, which must get through while the destination holds its whole share. */
  control: Slots;
  /** For a task that transfers files. */
  transfer: Slots;
};

/**
 * `slots` is how many tasks the process handles at once. `transfers` is the process's limit for transfers, of which each destination has a
 * share too. Returns the slots of a destination. All destinations that are no longer configured together count as one more.
 */
export function createDestinationSlots(options: {
  destinations: ReadonlyMap<string, { maxSends: number }>;
  slots: number;
  transfers: Share;
  now: () => number;
}): (destination: string | undefined) => DestinationSlots {
  const { destinations, slots, transfers, now } = options;
  const share = { slots, destinations: destinations.size };
  const max = maxShare(share);
  const reservedSlots = Math.max(1, Math.floor(max / 8));

  function create({ maxSends: wantedSends }: { maxSends: number }): DestinationSlots {
    const together = createShare({ max });
    // Transfers are left some slots, or files would be left out while sends and polls that wait for news hold all of them.
    const calls = createShare({ max: Math.max(2, max - reservedSlots) });
    // Polls are left some slots, because a send takes as long as the agent.
    const maxSends = Math.min(wantedSends, Math.max(1, max - 2 * reservedSlots));
    const forPolls = Math.max(1, max - reservedSlots);
    const wantedPolls = Math.ceil(wantedSends / 4);
    const maxPolls = Math.min(wantedPolls, forPolls);
    const maxControls = Math.ceil(maxSends / 4);
    const maxTransfers = Math.min(reservedSlots, maxShare({ ...share, slots: transfers.max }));
    // Sends and transfers are long, so no other one waits for their slots. The other calls are short.
    const long = { maxWaiting: 0, now };
    return {
      send: createSlots({ ...long, max: maxSends, shares: [together, calls] }),
      poll: createSlots({
        max: maxPolls,
        maxWaiting: Math.min(wantedPolls, forPolls - maxPolls),
        shares: [together, calls],
        now,
      }),
      control: createSlots({ max: maxControls, maxWaiting: maxControls, now }),
      transfer: createSlots({ ...long, max: maxTransfers, shares: [together, transfers] }),
    };
  }

  const slotsByName = new Map(
    [...destinations].map(([name, destination]) => [name, create(destination)]),
  );
  const others = create({ maxSends: 1 });
  return (destination) => slotsByName.get(destination ?? "") ?? others;
}

/** The assumed mean duration of a call before any was measured. */
const firstGuessMs = 1000;
/** How long a caller waits for a slot. Waiting is worthwhile because a call may take only milliseconds. */
const maxWaitMs = 1000;
export const minDelayMs = 100;
/** Bounds the delay of a caller that is turned away, because the destination may have become faster by then. */
const maxDelayMs = 60_000;
/** The weight of one call's duration in the mean. */
const weight = 0.1;

/**
 * Limits how much of one kind runs at once. Each caller also takes one of every share in `shares`, also while it waits. At most `maxWaiting`
 * callers wait for a slot, in order of arrival. Further callers get a delay, spaced by the mean duration of calls, so that ten thousand waiting tasks do not
 * all retry at once.
 */
export function createSlots(options: {
  max: number;
  maxWaiting: number;
  shares?: readonly Share[];
  now: () => number;
}): Slots {
  const { max, maxWaiting, shares = [], now } = options;
  const waiting = new Set<() => void>();
  let heldCount = 0;
  let meanMs = firstGuessMs;
  let bookedUntilMs = 0;

  /** Returns undefined if any of the shares has none left, or else a function that releases them. */
  function takeShares(): (() => void) | undefined {
    const releases = shares.map((share) => share.tryTake());
    const releaseAll = () => {
      for (const release of releases) release?.();
    };
    if (!releases.includes(undefined)) return releaseAll;
    releaseAll();
    return undefined;
  }

  function takeSlot(releaseShares: () => void): Taken {
    const sinceMs = now();
    heldCount += 1;
    return {
      release({ isMeasured } = { isMeasured: true }) {
        heldCount -= 1;
        releaseShares();
        // A poll that waits for news says nothing about how fast the destination is.
        if (isMeasured) meanMs += weight * (now() - sinceMs - meanMs);
        const [next] = waiting;
        next?.();
      },
    };
  }

  function turnAway(): Taken {
    const nowMs = now();
    bookedUntilMs = Math.min(Math.max(bookedUntilMs, nowMs) + meanMs / max, nowMs + maxDelayMs);
    return { delayMs: Math.ceil(Math.max(bookedUntilMs - nowMs, minDelayMs)) };
  }

  function wait(releaseShares: () => void): Promise<Taken> {
    const { promise, resolve } = Promise.withResolvers<Taken>();
    const takeFreedSlot = () => settle(takeSlot(releaseShares));
    const timer = setTimeout(() => {
      releaseShares();
      settle(turnAway());
    }, maxWaitMs);
    function settle(outcome: Taken): void {
      clearTimeout(timer);
      waiting.delete(takeFreedSlot);
      resolve(outcome);
    }
    waiting.add(takeFreedSlot);
    return promise;
  }

  return {
    async take() {
      const mayWait = waiting.size < maxWaiting;
      const releaseShares = heldCount < max || mayWait ? takeShares() : undefined;
      if (releaseShares === undefined) return turnAway();
      return heldCount < max ? takeSlot(releaseShares) : wait(releaseShares);
    },
    isIdle: () => (heldCount - 1) * 2 < max,
  };
}
