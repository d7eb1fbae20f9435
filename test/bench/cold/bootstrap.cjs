/** A function's process as far as its cold start goes: loads the handler, gives it one event, says when it has answered. */
const { env } = process;

async function start() {
  const { handler } = require(env.BENCH_BUNDLE);
  const context = { getRemainingTimeInMillis: () => 10_000 };
  const { statusCode } = await handler(JSON.parse(env.BENCH_EVENT), context, () => {});
  process.stdout.write(`${statusCode}\n`);
}

void start();
