/** Patterns of what must stay inside an endpoint: stack traces, paths, SQL and the environment. */

const patterns: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["a stack trace", /Traceback \(most recent|^\s+at .+[:(]\d+|File "[^"]+", line \d+|goroutine \d+ \[|panicked at /m],
  ["a stack trace", /\b(?:[a-z]\w*\.)+[A-Z]\w*\.\w+\([A-Z]\w*\.(?:java|kt|scala):\d+\)/],
  ["the name of an exception", /\b[A-Z][A-Za-z]*(?:Error|Exception)\b(?=[:( ]|$)/m],
  ["a path of the file system", /(?:^|[\s"'(=:])\/(?:home|usr|var|app|opt|srv|root|tmp|etc|proc|Users)\/[\w.-]+/m],
  ["a path of the file system", /\b[A-Z]:\\{1,2}(?:Users|Windows|Program Files|inetpub|app)\\/i],
  ["a path of the file system", /node_modules\/|site-packages\/|\.(?:py|rb|php|go|rs|java|cs|[cm]?[jt]s):\d+/],
  ["SQL", /\bSELECT\b.+\bFROM\b|\bINSERT INTO\b|\bUPDATE\b.+\bSET\b.+\bWHERE\b|\bDELETE FROM\b/s],
  ["SQL", /\bSQLSTATE\b|\bORA-\d{5}\b|syntax error at or near|SQLITE_[A-Z]+|duplicate key value violates/i],
  ["SQL", /error in your SQL syntax|\bno such (?:table|column)\b|\bselect\b.{1,200}\bfrom\b.{1,200}\bwhere\b/is],
  ["an error of the system", /\b(?:getaddrinfo|E(?:NOTFOUND|CONNREFUSED|CONNRESET|AI_AGAIN|NOENT|ACCES|PERM))\b/],
  ["the environment", /\b(?:AWS_[A-Z_]+|PATH|HOME|[A-Z]+_(?:TOKEN|SECRET|KEY|PASSWORD))\s*=\s*\S/],
  ["an address inside a network", /\b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|redis|amqps?):\/\/|\barn:aws[a-z-]*:/i],
  ["an address inside a network", /\b(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(?::\d+)?\b/],
];

/** What a text reveals, such as "a stack trace". Undefined if nothing was recognized. */
export function findLeak(text: string): string | undefined {
  return patterns.find(([, pattern]) => pattern.test(text))?.[0];
}
