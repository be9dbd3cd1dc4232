// Numbers as numpy makes them: sums in its order, halves to even.

const BLOCK = 128;

// numpy's pairwise sum of `count` values, `at(k)` each: eight sums side by side, halves where there are many.
function pairwise(at, from, count) {
  if (count < 8) {
    let total = 0;
    for (let k = 0; k < count; k += 1) total += at(from + k);
    return total;
  }
  if (count > BLOCK) {
    const half = Math.floor(count / 2) - (Math.floor(count / 2) % 8);
    return pairwise(at, from, half) + pairwise(at, from + half, count - half);
  }
  const sums = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => at(from + k));
  let k = 8;
  for (; k + 8 <= count; k += 8) for (let j = 0; j < 8; j += 1) sums[j] += at(from + k + j);
  const [a, b, c, d, e, f, g, h] = sums;
  let total = a + b + (c + d) + (e + f + (g + h));
  for (; k < count; k += 1) total += at(from + k);
  return total;
}

// `np.add.reduce` of `count` values: the first, and the sum of the others.
export const added = (at, count) => (count ? at(0) + pairwise(at, 1, count - 1) : 0);

// The nearest whole number, of two the even one.
export function rounded(value) {
  const whole = Math.round(value);
  return whole - value === 0.5 && whole % 2 ? whole - 1 : whole;
}

// From a number to the next larger one, as `math.ulp`.
export function ulp(value) {
  const bits = new BigInt64Array(1);
  const number = new Float64Array(bits.buffer);
  number[0] = value;
  bits[0] += 1n;
  return number[0] - value;
}

// The same whole numbers in the smallest unsigned type that holds them all.
export function small(values) {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return (most < 1 << 8 ? Uint8Array : most < 1 << 16 ? Uint16Array : Uint32Array).from(values);
}
