/**
 * Reasons and their numbers. A decoder goes by `data.reason` first and by the number second: an unknown reason with an unknown
 * number is `internal`, which is safe; with the number of a known reason it would be taken for that one.
 */

export type OpenRpcFile = {
  methods: readonly { name: string; paramStructure?: string }[];
  components: { errors: Readonly<Record<string, { code: number; data?: { retryable?: boolean } }>> };
};

export function changedErrors({ released, current }: { released: OpenRpcFile; current: OpenRpcFile }): string[] {
  const { errors: before } = released.components;
  const { errors: now } = current.components;
  const ofOld = Object.entries(before).flatMap(([reason, { code, data }]) => {
    const same = now[reason];
    if (same === undefined) return [`error ${reason}: the reason is gone (an old host sends it)`];
    const { code: newCode, data: newData } = same;
    return [
      ...(newCode === code ? [] : [`error ${reason}: its code is ${newCode}, and was ${code}`]),
      ...(newData?.retryable === data?.retryable ? [] : [`error ${reason}: whether it may be retried has changed`]),
    ];
  });
  const ofNew = Object.entries(now).flatMap(([reason, { code }]) => {
    if (reason in before) return [];
    const others = Object.keys(before).filter((other) => before[other]?.code === code);
    if (others.length === 0) return [];
    return [`error ${reason}: its code ${code} is one that an old client reads as ${others.join(" or ")}`];
  });
  return [...ofOld, ...ofNew];
}
