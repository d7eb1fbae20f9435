/** What AWS runs around a function: it loads the handler that the template names, and speaks the Runtime API. */
const { request } = require("node:http");
const { enableCompileCache, flushCompileCache } = require("node:module");
const { join } = require("node:path");
const { setOffset } = require("../shift-date.cjs");

const {
  AWS_LAMBDA_RUNTIME_API,
  _HANDLER = "",
  LAMBDA_TASK_ROOT = "",
  AWS_LAMBDA_FUNCTION_NAME,
} = process.env;
const version = "/2018-06-01/runtime";
const [, , compileCache] = process.argv;

function call(method, path, body) {
  const [hostname, port] = AWS_LAMBDA_RUNTIME_API.split(":");
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { hostname, port, method, path: version + path, agent: false },
      (incoming) => {
        const chunks = [];
        incoming.on("data", (chunk) => chunks.push(chunk));
        incoming.on("end", () =>
          resolve({ headers: incoming.headers, text: Buffer.concat(chunks).toString("utf8") }),
        );
        incoming.on("error", reject);
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function describe(error) {
  const isError = error instanceof Error;
  return JSON.stringify({
    errorType: isError ? error.name : typeof error,
    errorMessage: isError ? error.message : String(error),
    stackTrace: isError ? String(error.stack).split("\n") : [],
  });
}

function loadHandler() {
  enableCompileCache(compileCache);
  const dot = _HANDLER.lastIndexOf(".");
  const handler = require(join(LAMBDA_TASK_ROOT, _HANDLER.slice(0, dot)))[_HANDLER.slice(dot + 1)];
  if (typeof handler !== "function") throw new Error(`${_HANDLER} is undefined or not exported`);
  // The process ends by a signal, which would leave nothing behind.
  flushCompileCache();
  return handler;
}

let invocationId;

/** The runtime's client for Node 22 ends the process so (src/index.mjs and src/Runtime.js of aws-lambda-nodejs-runtime-interface-client). */
function endOn(event, code) {
  process.on(event, (error) => {
    const path = invocationId === undefined ? "/init/error" : `/invocation/${invocationId}/error`;
    void call("POST", path, describe(error)).finally(() => process.exit(code));
  });
}

async function main() {
  endOn("uncaughtException", 129);
  endOn("unhandledRejection", 128);
  let handler;
  try {
    handler = loadHandler();
  } catch (error) {
    await call("POST", "/init/error", describe(error));
    process.exit(1);
  }
  for (;;) {
    const { headers, text } = await call("GET", "/invocation/next");
    const id = headers["lambda-runtime-aws-request-id"];
    invocationId = id;
    // A process that was frozen may not have heard of the latest move of the clock.
    setOffset(Number(headers["x-rehearsal-offset-ms"]));
    const deadlineMs = Number(headers["lambda-runtime-deadline-ms"]);
    // SDKs read this variable and pass the trace on to SQS.
    process.env._X_AMZN_TRACE_ID = headers["lambda-runtime-trace-id"];
    const context = {
      awsRequestId: id,
      functionName: AWS_LAMBDA_FUNCTION_NAME,
      invokedFunctionArn: headers["lambda-runtime-invoked-function-arn"],
      callbackWaitsForEmptyEventLoop: false,
      getRemainingTimeInMillis: () => Math.max(0, deadlineMs - Date.now()),
    };
    try {
      const result = await handler(JSON.parse(text), context);
      await call("POST", `/invocation/${id}/response`, JSON.stringify(result) ?? "null");
    } catch (error) {
      await call("POST", `/invocation/${id}/error`, describe(error));
    }
  }
}

// The parent is gone, and with it the Runtime API.
main().catch(() => process.exit(1));
