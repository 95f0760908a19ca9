/** The median; of an even number of values, the mean of the two in the middle. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((left, right) => left - right)
  const middle = sorted.length / 2
  const low = sorted[Math.ceil(middle) - 1] ?? Number.NaN
  const high = sorted[Math.floor(middle)] ?? Number.NaN
  return (low + high) / 2
}

/** The value that 99 % of the values do not exceed. */
export const p99 = (values: ReadonlyArray<number>): number =>
  [...values].sort((left, right) => left - right)[Math.ceil(values.length * 0.99) - 1] ?? Number.NaN

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export const spreadOf = (values: ReadonlyArray<number>): Spread => ({
  median: median(values),
  min: Math.min(...values),
  max: Math.max(...values)
})
