/* Two numbers, uniform in (0, 1), of a seed, a stream, a run and a tick, and of nothing that went
   before: Philox 4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, SC 2011). */
static void lw_uniform(uint64_t seed, uint32_t stream, uint32_t run, uint64_t tick, double *pair)
{
    uint32_t a = (uint32_t)(tick & 0xFFFFFFFFu);
    uint32_t b = (uint32_t)(tick >> 32);
    uint32_t c = stream;
    uint32_t d = run;
    uint32_t first = (uint32_t)(seed & 0xFFFFFFFFu);
    uint32_t second = (uint32_t)(seed >> 32);
    for (int32_t i = 0; i < 10; ++i) {
        const uint64_t low = UINT64_C(0xD2511F53)*a;
        const uint64_t high = UINT64_C(0xCD9E8D57)*c;
        a = (uint32_t)(high >> 32) ^ b ^ first;
        b = (uint32_t)(high & 0xFFFFFFFFu);
        c = (uint32_t)(low >> 32) ^ d ^ second;
        d = (uint32_t)(low & 0xFFFFFFFFu);
        first += 0x9E3779B9u;
        second += 0xBB67AE85u;
    }
    pair[0] = ((double)(((uint64_t)a << 20) | (b >> 12)) + 0.5)*2.220446049250313e-16;
    pair[1] = ((double)(((uint64_t)c << 20) | (d >> 12)) + 0.5)*2.220446049250313e-16;
}
