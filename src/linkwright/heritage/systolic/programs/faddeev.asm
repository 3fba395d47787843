# D + C A⁻¹ B by the modified algorithm of Faddeev, for A m×n, B m×p, C l×n, D l×p.
# As it stands: the inverse of a 6×6 matrix (B and C the unit matrix, D zero; scaled as needed).
#
# Cell (k, j) of the triangle is the element in row j, column j - k + 1: boundary cells are the
# external elements. Rows come in at the top, go down to the main diagonal, left through the cells,
# and down again below them. s, c and M go along the diagonals, M also down column 1 at half speed.
#
# AB0 r   AB1 x   AB2 s   AB3 c   AB4 M   AB5, AB6 parts   AB7 M of the step before (column 1)
# Column 1 has constants: B0 h2, A1 and B1 a quarter, B2 h1, B3 h0, B4 the complement of one.

set n = 6
set m = n
set p = n
set l = n

limit n + p <= 16
limit n <= m
limit l <= 2*n + p

queue constants ascending 5          # h2, quarter, h1, h0, one: each in the first word of a row
queue data ascending 2*(m+l)         # for each row of [A B; -C D]: M (first word), then the row
queue zeros constant                 # follow the data until everything has come out
queue scratch constant output 0      # what comes out before the results
queue results ascending l output p   # D + C A⁻¹ B

mask cells = diagonals 0..n-1
mask carry = diagonals -15..-1, n..15
mask from_east = diagonals 1..n
mask from_north = diagonals -15..0, n+1..15
mask boundary = rows 1..n columns 1
mask below = rows n+p..16

fifo read = constants, data, zeros
fifo write = scratch, results
fifo program = loop*(m+l-1), reads, loop*(2*n+p-l), writes, loop*l, stop

# Constants go down column 1; the row at the edge stays there while it is shifted.
start: READQ
READ
repeat n
  @boundary S:W = N:E, SWL_OUT, NEL_IN | NOP
  @boundary SWH_OUT, NEH_IN | NOP
end
@boundary READ B0 = E:N
repeat n
  @boundary S:W = N:E, SWL_OUT, NEL_IN | NOP
  @boundary SWH_OUT, NEH_IN | NOP
end
@boundary READ A1 = N:E, B1 = E:N
repeat n
  @boundary S:W = N:E, SWL_OUT, NEL_IN | NOP
  @boundary SWH_OUT, NEH_IN | NOP
end
@boundary READ B2 = E:N
repeat n
  @boundary S:W = N:E, SWL_OUT, NEL_IN | NOP
  @boundary SWH_OUT, NEH_IN | NOP
end
@boundary READ B3 = E:N
repeat n
  @boundary S:W = N:E, SWL_OUT, NEL_IN | NOP
  @boundary SWH_OUT, NEH_IN | NOP
end
@boundary AB6 = N:E
@boundary ADDD(, AB6)
@boundary B4 = CSUM1B
READQ WRITEQ ZERO NOP

# One step. What has come to row n + p goes on to the edge, and to memory.
loop: MARK NOP
@below S:W = AB1, SWL_OUT, NEL_IN
@below SWH_OUT, NEH_IN
repeat 16-n-p
  @below S:W = N:E, SWL_OUT, NEL_IN
  @below SWH_OUT, NEH_IN
end
@cells WRITE MULTF1(AB4, AB1)                                   # M x
@cells NOP | MULTF2(AB1, AB3)                                   # x c
NOP
NOP
@cells MULTS1
@cells SORT(SUM1A, CSUM1B) | AB5 = SUM1A, MULTS2                # |M x|
@cells SORT(HIGHA, AB0) | AB6 = SUM2B
@cells SHIFT(AB2 = HIGHA, LOWB) | NOP                           # AB2 = X
@cells DIVS | NOP                                               # u

S:W = AB4, SWL_OUT, NEL_IN                                      # M along the diagonals
SWH_OUT, NEH_IN
E:N = N:E, NEL_OUT, SWL_IN
READ NEH_OUT, SWH_IN
S:W = AB7, SWL_OUT, NEL_IN | AB4 = W:S                          # and down column 1
AB7 = AB4, SWH_OUT, NEH_IN | NOP
AB4 = N:E | NOP
NOP
@cells MULTF1(AB5 = QUOTA, AB5) | MULTF1(AB0, AB2)              # w = u u; r s
@cells NOP | MULTF2(AB0, AB3)                                   # r c
NOP
NOP
@cells MULTS1
@cells MULTF1(AB5 = SUM1A, B0) | A0 = SUM1A, MULTS2             # h2 w
@cells MULTF2(AB5, B1) | B0 = SUM2B                             # w/4
@cells NOP | ADDD(, AB6)                                        # x c - r s by complements
@cells NOP | ADD2(A0, CSUM1B)
@cells MULTS1 | AB6 = CSUM2A
@cells ADD2(SUM1A, B2) | MULTF1(AB5, AB2)                       # h1 + h2 w; M x s
@cells MULTF1(AB5, SUM2B) | NOP
@cells MULTS2 | NOP
@cells ADD2(A1, SUM2B) | NOP                                    # q = (1 + w)/4
@cells AB6 = SUM2B | MULTS1
@cells MULTS1 | ADD2(SUM1A, B0)
@cells ADDD(SUM1A, B3) | AB0 = SUM2B                            # h; r of internal cells
@cells SHIFT(AB5 = SUM1A, AB6) | NOP
@cells DIVS | NOP                                               # q/h
repeat 8
  NOP
end
@cells ADD2(QUOTA, AB5) | NOP                                   # h + q/h
@cells MULTF1(AB2, SUM2B) | NOP                                 # t = X (h + q/h)
NOP
NOP
NOP
@cells MULTS1 | NOP
@cells SHIFT(AB5 = SUM1A, AB1) | NOP
@cells DIVS | NOP                                               # s = x/t

@cells READ NOP | W:S = AB6                                     # x left from cells, else down
@carry S:W = AB1
SWL_OUT, NEL_IN
SWH_OUT, NEH_IN
@from_east AB1 = E:N
@from_north AB1 = N:E
NOP
@cells SHIFT(AB5, AB0) | NOP
@cells AB2 = QUOTA, DIVS | NOP                                  # r/t

S:W = AB2, SWL_OUT, NEL_IN                                      # s along the diagonals
SWH_OUT, NEH_IN
E:N = N:E, NEL_OUT, SWL_IN
NEH_OUT, SWH_IN
NOP | AB2 = W:S
@cells AB0 = AB5 | NOP                                          # r = t
NOP
@cells SHIFT(AB5, AB5) | NOP
@cells AB3 = QUOTA, DIVS | NOP                                  # t/t
repeat 8
  NOP
end
@cells ADD2(QUOTA, B4) | NOP                                    # 1 - t/t by complements
@cells ADD2(CSUM2A, AB3) | NOP
@cells AB3 = SUM2B | NOP                                        # c

S:W = AB3, SWL_OUT, NEL_IN                                      # c along the diagonals
SWH_OUT, NEH_IN
E:N = N:E, NEL_OUT, SWL_IN
NEH_OUT, SWH_IN
JUMP NOP | AB3 = W:S
reads: READQ JUMP NOP
writes: WRITEQ JUMP NOP
stop: HALT NOP
