/** What people ask for in a load run: how many messages, in which threads, and which of them the agent answers at once. */

/** `number` counts from 0. An agent answers a quick task at once and holds any other one (children/hold.ts). */
export type PlannedTask = { number: number; quick: boolean };

/** The messages of one thread, in the order in which they are posted. */
export type PlannedThread = PlannedTask[];

const messagesOfLongThread = 3;

/** Of twelve tasks nine have a thread of their own and three share one, each asked for before the one before it has ended. */
export function planThreads({
  tasks,
  longThreads,
  quickShare,
  random,
}: {
  tasks: number;
  longThreads: boolean;
  /** The share of tasks that are quick. */
  quickShare: number;
  random: () => number;
}): PlannedThread[] {
  const threads: PlannedThread[] = [];
  let number = 0;
  const take = (count: number): PlannedThread =>
    Array.from({ length: Math.min(count, tasks - number) }, () => ({ number: number++, quick: random() < quickShare }));
  while (number < tasks) {
    const isLong = longThreads && threads.length % 10 === 9;
    threads.push(take(isLong ? messagesOfLongThread : 1));
  }
  return threads;
}

export function textOf({ number, quick }: PlannedTask): string {
  return `task ${number} ${quick ? "quick" : "held"}`;
}

export function answerTo(text: string): string {
  return `Done: ${text}`;
}
