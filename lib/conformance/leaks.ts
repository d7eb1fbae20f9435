/** Patterns of what must stay inside an endpoint: stack traces, paths, SQL and the environment. */

const patterns: readonly (readonly [what: string, pattern: RegExp])[] = [
  [
    "a stack trace",
    /Traceback \(most recent|^\s+at .+[:(]\d+|File "[^"]+", line \d+|goroutine \d+ \[|panicked at /m,
  ],
  ["a stack trace", /\b(?:[a-z]\w*\.)+[A-Z]\w*\.\w+\([A-Z]\w*\.(?:java|kt|scala):\d+\)/],
  ["the name of an exception", /\b[A-Z][A-Za-z]*(?:Error|Exception)\b(?=[:( ]|$)/m],
  [
    "a path of the file system",
    /(?:^|[\s"'(=:])\/(?:home|usr|var|app|opt|srv|root|tmp|etc|proc|Users)\/[\w.-]+/m,
  ],
  ["a path of the file system", /\b[A-Z]:\\{1,2}(?:Users|Windows|Program Files|inetpub|app)\\/i],
  [
    "a path of the file system",
    /node_modules\/|site-packages\/|\.(?:py|rb|php|go|rs|java|cs|[cm]?[jt]s):\d+/,
  ],
  ["SQL", /\bSELECT\b.+\bFROM\b|\bINSERT INTO\b|\bUPDATE\b.+\bSET\b.+\bWHERE\b|\bDELETE FROM\b/s],
  [
    "SQL",
    /\bSQLSTATE\b|\bORA-\d{5}\b|syntax error at or near|SQLITE_[A-Z]+|duplicate key value violates/i,
  ],
  [
    "SQL",
    /error in your SQL syntax|\bno such (?:table|column)\b|\bselect\b.{1,200}\bfrom\b.{1,200}\bwhere\b/is,
  ],
  [
    "an error of the system",
    /\b(?:getaddrinfo|E(?:NOTFOUND|CONNREFUSED|CONNRESET|AI_AGAIN|NOENT|ACCES|PERM))\b/,
  ],
  [
    "SQL",
    /Incorrect syntax near|Access denied for user|\brelation ".+" does not exist|\bE11000 duplicate|Duplicate entry '/i,
  ],
  [
    "an exception",
    /Cannot read propert(?:y|ies) of (?:undefined|null)|'NoneType' object|invalid literal for int\(\)/,
  ],
  [
    "an exception",
    /undefined method [`'‘]|index out of range \[\d|nil pointer dereference|list index out of range/,
  ],
  [
    "a path of the file system",
    /(?:^|[\s"'(=:])\/(?:workspace|mnt|data|code|function|secrets)\/[\w.-]+/m,
  ],
  [
    "a key",
    /\bsk-[A-Za-z0-9_-]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bxox[abeprs]-[A-Za-z0-9-]{8,}|\bgh[pousr]_\w{20,}/,
  ],
  ["a key", /-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\./],
  [
    "the environment",
    /environ\(\{|["'][A-Z_]*(?:PASSWORD|SECRET|API_KEY|ACCESS_KEY|TOKEN)["']\s*:|\bwith password \S+/,
  ],
  [
    "an address inside a network",
    /\b169\.254\.169\.254\b|\b127\.0\.0\.1:\d+|\blocalhost:\d+|\bf[cd][0-9a-f]{2}:[0-9a-f:]+/i,
  ],
  [
    "an address inside a network",
    /\b[\w-]+\.(?:[\w-]+\.)*(?:internal|cluster\.local)\b|\binternal-[\w.-]+\.elb\.amazonaws\.com/i,
  ],
  ["the environment", /\b(?:AWS_[A-Z_]+|PATH|HOME|[A-Z]+_(?:TOKEN|SECRET|KEY|PASSWORD))\s*=\s*\S/],
  [
    "an address inside a network",
    /\b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|redis|amqps?):\/\/|\barn:aws[a-z-]*:/i,
  ],
  [
    "an address inside a network",
    /\b(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(?::\d+)?\b/,
  ],
];

/** Some patterns take quadratic time. */
const maxReadLength = 20_000;

/** What the beginning of a text reveals, such as "a stack trace". Undefined if nothing was recognized. */
export function findLeak(text: string): string | undefined {
  const beginning = text.slice(0, maxReadLength);
  return patterns.find(([, pattern]) => pattern.test(beginning))?.[0];
}
