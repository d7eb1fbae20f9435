/** A function's process as far as its cold start goes: loads the handler, gives it one event, says what it answered and what it took. */
const { env } = process;

async function start() {
  const { handler } = require(env.BENCH_BUNDLE);
  const context = {
    getRemainingTimeInMillis: () => 60_000,
    invokedFunctionArn: "arn:aws:lambda:eu-central-1:1:function:f",
  };
  const answer = await handler(JSON.parse(env.BENCH_EVENT), context, () => {});
  const { user, system } = process.cpuUsage();
  process.stdout.write(
    JSON.stringify({ answer: JSON.stringify(answer), processorMs: (user + system) / 1000 }),
  );
}

void start();
