; Four bars with a strut; all places are given along the axes of the ground (section 9.3).
(add-body a :mass 0 :inertia-matrix 0 :body-rotation-axes 3)
(add-body b :parent a :body-rotation-axes 3 :coordinate-system n
          :joint-coordinates #(l1 0 0) :cm-coordinates #(l1 l3 0))
(add-body c :mass 0 :inertia-matrix 0 :body-rotation-axes 3 :coordinate-system n
          :joint-coordinates #(l5 l4 0))
(add-point bp :body b :coordinates #(l1 l4 0) :coordinate-system n)
(add-point cp :body c :coordinates #(l1 l4 0) :coordinate-system n)
(no-movement bp cp [b1])
(no-movement bp cp [c2] :confirm nil)
(add-gravity :direction !"-[n2]")
(add-point s1 :body b :coordinates #(l1 l2 0) :coordinate-system n)
(add-point s2 :body n :coordinates #(l6 l7 0))
(add-strut f :point1 s1 :point2 s2 :x len :x0 free :magnitude !"-k*(len - free) - d*v")
(add-out !"-fm(f)" "tension" :units f)
(add-out !"dot([n1], pos(bcm))" "X" :body b :units l)
(add-coordinates-to-output)
(add-out !"q(1) + q(2)" "tilt" :body b :units a)
(mks)
(set-defaults l1 .5 l2 .1 l3 .2 l4 .3 l5 .1 l6 .3 l7 .5 k 10000 d 100 bm 10 bi33 1
              step .005 stopt 1)
