/** Counts failed sign-ins by the address that they come from, so that nobody tries tokens one after the other. */

const maxAddresses = 1000;

export type FailureLimit = {
  /** How long the address must wait; undefined where it may try. */
  waitMs(address: string): number | undefined;
  note(address: string): void;
};

/** `max` of them within `windowMs`; the oldest addresses are forgotten where there are too many. */
export function createFailureLimit({
  max = 10,
  windowMs = 60_000,
  now = Date.now,
}: {
  max?: number;
  windowMs?: number;
  now?: () => number;
} = {}): FailureLimit {
  const byAddress = new Map<string, number[]>();

  function recent(address: string): number[] {
    return (byAddress.get(address) ?? []).filter((atMs) => atMs > now() - windowMs);
  }

  return {
    waitMs(address) {
      const [first = 0, ...rest] = recent(address).slice(-max);
      return rest.length + 1 < max || first === 0 ? undefined : first + windowMs - now();
    },
    note(address) {
      const times = [...recent(address), now()].slice(-max);
      byAddress.delete(address);
      byAddress.set(address, times);
      const [oldest] = byAddress.keys();
      if (oldest !== undefined && byAddress.size > maxAddresses) byAddress.delete(oldest);
    },
  };
}
