/** A metric in Prometheus' text format, with its samples by label text. */
export interface Family {
  readonly type: string
  readonly help: string
  readonly samples: Map<string, number>
}

const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y

const checkLabels = (labels: string) => {
  label.lastIndex = 0
  while (label.lastIndex < labels.length) if (!label.test(labels)) throw new Error(`bad labels: ${labels}`)
}

/**
 * Parses the format strictly: each family has HELP, then TYPE, then all its samples; labels are quoted; the buckets of
 * a histogram rise to +Inf, which equals its count.
 */
export const parseExposition = (text: string): ReadonlyMap<string, Family> => {
  if (!text.endsWith("\n")) throw new Error("the text does not end with a line end")
  const families = new Map<string, Family>()
  let current: [string, Family] | undefined
  for (const line of text.trimEnd().split("\n")) {
    const [, helped, help] = /^# HELP (\S+) (.*)$/.exec(line) ?? []
    if (helped !== undefined) {
      if (families.has(helped)) throw new Error(`${helped} comes twice`)
      current = [helped, { type: "", help: help ?? "", samples: new Map() }]
      continue
    }
    const [, typed, type] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? []
    if (typed !== undefined) {
      if (current?.[0] !== typed) throw new Error(`TYPE of ${typed} without its HELP`)
      current[1] = { ...current[1], type: type ?? "" }
      families.set(typed, current[1])
      continue
    }
    const [, name = "", labels = "", value = ""] = sampleLine.exec(line) ?? []
    if (name === "" || current === undefined) throw new Error(`no sample: ${line}`)
    checkLabels(labels)
    const [family, { samples, type: kind }] = current
    const suffix = name.slice(family.length)
    const isOf = kind === "histogram" ? /^_(?:bucket|sum|count)$/.test(suffix) : suffix === ""
    if (!name.startsWith(family) || !isOf) throw new Error(`${name} stands under ${family}`)
    const key = labels === "" ? suffix : `${suffix}{${labels}}`
    if (samples.has(key)) throw new Error(`${line} comes twice`)
    samples.set(key, value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value))
  }
  for (const [name, { samples, type }] of families) if (type === "histogram") checkHistogram(name, samples)
  return families
}

const checkHistogram = (name: string, samples: ReadonlyMap<string, number>) => {
  let before: { readonly labels: string; readonly bound: number; readonly count: number } | undefined
  for (const [key, count] of samples) {
    const [, labels = "", bound = ""] = /^_bucket\{(?:(.*),)?le="([^"]*)"\}$/.exec(key) ?? []
    if (bound === "") continue
    const value = bound === "+Inf" ? Number.POSITIVE_INFINITY : Number(bound)
    if (before !== undefined && before.labels === labels && (value <= before.bound || count < before.count))
      throw new Error(`the buckets of ${name}{${labels}} do not rise`)
    before = { labels, bound: value, count }
    if (value !== Number.POSITIVE_INFINITY) continue
    if (samples.get(labels === "" ? "_count" : `_count{${labels}}`) !== count)
      throw new Error(`the last bucket of ${name}{${labels}} is not its count`)
  }
}

/** The sum of the samples whose labels have these values. */
export const sumOf = (
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
  suffix = ""
): number => {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`)
  let sum = 0
  for (const [key, value] of families.get(name)?.samples ?? [])
    if (key.split("{")[0] === suffix && wanted.every((each) => key.includes(each))) sum += value
  return sum
}
